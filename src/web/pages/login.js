/* SPDX-License-Identifier: MIT
 *
 * The sign-in page: says when the token was wrong.
 */
if (new URLSearchParams(location.search).has('failed'))
    document.getElementById('failed').hidden = false;
