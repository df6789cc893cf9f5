// SPDX-License-Identifier: MIT
'use strict';

// An option that has no effect is an error: what is left over when the known ones were taken.
exports.refuseUnknown = (rest) => {
  const [name] = Object.keys(rest);
  if (name !== undefined) throw new TypeError(`there is no option '${name}'`);
};
