// SPDX-License-Identifier: MIT
//
// What a program uses. README.md tells how, index.d.ts each call.
'use strict';

const { MusterError, version } = require('./lib/native');
const { Client } = require('./lib/client');
const { Worker } = require('./lib/worker');
const { Listener } = require('./lib/listener');

module.exports = { Client, Worker, Listener, MusterError, version };
