import childProcess from 'node:child_process'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import perfHooks from 'node:perf_hooks'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import workers from 'node:worker_threads'
import zlib from 'node:zlib'

/** An object, the names of its functions that use the real world, and a hint at the replacement. */
type BannedFunctions = readonly [holder: object, names: readonly string[], instead: string]

export const CLOCK_HINT = 'use the clock port (ports/clock.ts)'
const SLEEP_HINT = 'sleep with the clock port (ports/clock.ts)'
export const IDS_HINT = 'use the ids port (ports/clock.ts)'
const PORT_HINT = 'call it through a port'
const THREAD_HINT = 'it runs on a real thread; use the synchronous function or a port'
const LOAD_HINT = 'its result depends on the machine; measure through a port'
const NONCE_HINT = 'it generates a random number; sign and encrypt through a port'

const functionsOf = (holder: object): readonly string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(holder)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' && !/^[A-Z_]/.test(name) ? [name] : [],
  )

/** Functions that compress with a callback or as a stream. */
const ASYNC_ZLIB = functionsOf(zlib).filter((name) => name !== 'crc32' && !name.endsWith('Sync'))

export const bannedFunctions: readonly BannedFunctions[] = [
  [globalThis, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP_HINT],
  [timers, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP_HINT],
  [timersPromises, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP_HINT],
  [timersPromises.scheduler, ['wait', 'yield'], SLEEP_HINT],
  [AbortSignal, ['timeout'], SLEEP_HINT],
  [Atomics, ['wait', 'waitAsync'], SLEEP_HINT],
  [performance, ['now', 'mark', 'measure', 'toJSON'], CLOCK_HINT],
  [process, ['hrtime', 'uptime'], CLOCK_HINT],
  [os, ['uptime'], CLOCK_HINT],
  [os, ['freemem', 'loadavg', 'cpus'], LOAD_HINT],
  [performance, ['eventLoopUtilization'], LOAD_HINT],
  [perfHooks, ['monitorEventLoopDelay'], LOAD_HINT],
  [process, ['cpuUsage', 'threadCpuUsage', 'memoryUsage', 'availableMemory', 'resourceUsage'], LOAD_HINT],
  [Math, ['random'], IDS_HINT],
  [
    crypto,
    ['randomUUID', 'randomUUIDv7', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'pseudoRandomBytes'],
    IDS_HINT,
  ],
  [crypto, ['generateKey', 'generateKeySync', 'generateKeyPair', 'generateKeyPairSync'], IDS_HINT],
  [crypto, ['generatePrime', 'generatePrimeSync', 'createDiffieHellman'], IDS_HINT],
  // The prototypes cover every curve and group. `computeSecret` of given keys is deterministic, so it stays available.
  [crypto.ECDH.prototype, ['generateKeys'], IDS_HINT],
  [crypto.DiffieHellman.prototype, ['generateKeys'], IDS_HINT],
  [crypto.DiffieHellmanGroup.prototype, ['generateKeys'], IDS_HINT],
  [crypto, ['sign', 'createSign', 'publicEncrypt', 'encapsulate'], NONCE_HINT],
  [crypto, ['argon2', 'scrypt', 'pbkdf2', 'hkdf', 'checkPrime'], THREAD_HINT],
  [crypto.webcrypto.subtle, functionsOf(Object.getPrototypeOf(crypto.webcrypto.subtle) as object), THREAD_HINT],
  [zlib, ASYNC_ZLIB, THREAD_HINT],
  [workers, ['Worker'], THREAD_HINT],
  // `getRandomValues` of node:crypto calls this object too, so this ban covers both.
  [crypto.webcrypto, ['getRandomValues', 'randomUUID'], IDS_HINT],
  [globalThis, ['fetch'], PORT_HINT],
  [net.Socket.prototype, ['connect'], PORT_HINT],
  [net.Server.prototype, ['listen'], PORT_HINT],
  [net, ['connect', 'createConnection'], PORT_HINT],
  [dgram.Socket.prototype, ['bind', 'connect', 'send'], PORT_HINT],
  [http, ['request', 'get'], PORT_HINT],
  [https, ['request', 'get'], PORT_HINT],
  [dns, functionsOf(dns), PORT_HINT],
  [dns.promises, functionsOf(dns.promises), PORT_HINT],
  [dns.Resolver.prototype, functionsOf(dns.Resolver.prototype), PORT_HINT],
  [dns.promises.Resolver.prototype, functionsOf(dns.promises.Resolver.prototype), PORT_HINT],
  [childProcess, functionsOf(childProcess), PORT_HINT],
  // Files are banned because they have timestamps and a disk has a latency.
  [fs, functionsOf(fs), PORT_HINT],
  [fs.promises, functionsOf(fs.promises), PORT_HINT],
]

/** Banned properties, which code reads without a call. */
export const bannedProperties: readonly (readonly [holder: object, name: string, instead: string])[] = [
  [performance, 'timeOrigin', CLOCK_HINT],
  [performance, 'nodeTiming', CLOCK_HINT],
  [Event.prototype, 'timeStamp', CLOCK_HINT],
]

/** SQL that reads the real clock or generates random values. */
export const BANNED_SQL =
  /\b(random|randomblob)\s*\(|\bcurrent_(time|date|timestamp)\b|'now'|\b(unixepoch|julianday|datetime|date|time)\s*\(\s*\)/i
