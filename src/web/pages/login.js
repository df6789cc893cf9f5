/* SPDX-License-Identifier: MIT
 *
 * The sign-in page: says when the token was wrong, and keeps the place that was asked for, which the redirection to
 * here has left after the #.
 */
if (new URLSearchParams(location.search).has('failed'))
    document.getElementById('failed').hidden = false;
if (location.hash)
    try {
        sessionStorage.setItem('muster.from', location.hash);
    } catch (e) { /* then the overview it is */ }
