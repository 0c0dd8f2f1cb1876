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

/** An object, the names of its functions that reach the real world, and what to use instead. */
type Forbidden = readonly [holder: object, names: readonly string[], instead: string]

export const CLOCK = 'ask the clock port (ports/clock.ts)'
const SLEEP = 'sleep with the clock port (ports/clock.ts)'
export const IDS = 'draw from the ids port (ports/clock.ts)'
const OUTSIDE = 'reach the outside through a port'
const THREADS = 'it runs on a real thread: take the synchronous one or a port'
const LOAD = 'what it says hangs on the machine: measure through a port'
const NONCE = 'it draws a number of its own: sign and encrypt through a port'

const functionsOf = (holder: object): readonly string[] =>
  Object.entries(Object.getOwnPropertyDescriptors(holder)).flatMap(([name, { value }]) =>
    typeof value === 'function' && name !== 'constructor' && !/^[A-Z_]/.test(name) ? [name] : [],
  )

/** Compression with a callback, or as a stream. */
const ASYNCHRONOUS = functionsOf(zlib).filter((name) => name !== 'crc32' && !name.endsWith('Sync'))

export const forbidden: readonly Forbidden[] = [
  [globalThis, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timers, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timersPromises, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timersPromises.scheduler, ['wait', 'yield'], SLEEP],
  [AbortSignal, ['timeout'], SLEEP],
  [Atomics, ['wait', 'waitAsync'], SLEEP],
  [performance, ['now', 'mark', 'measure', 'toJSON'], CLOCK],
  [process, ['hrtime', 'uptime'], CLOCK],
  [os, ['uptime'], CLOCK],
  [os, ['freemem', 'loadavg', 'cpus'], LOAD],
  [performance, ['eventLoopUtilization'], LOAD],
  [perfHooks, ['monitorEventLoopDelay'], LOAD],
  [process, ['cpuUsage', 'threadCpuUsage', 'memoryUsage', 'availableMemory', 'resourceUsage'], LOAD],
  [Math, ['random'], IDS],
  [crypto, ['randomUUID', 'randomUUIDv7', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'pseudoRandomBytes'], IDS],
  [crypto, ['generateKey', 'generateKeySync', 'generateKeyPair', 'generateKeyPairSync'], IDS],
  [crypto, ['generatePrime', 'generatePrimeSync', 'createDiffieHellman'], IDS],
  // Of every curve and group, however it was made; agreeing on a secret with given keys is arithmetic.
  [crypto.ECDH.prototype, ['generateKeys'], IDS],
  [crypto.DiffieHellman.prototype, ['generateKeys'], IDS],
  [crypto.DiffieHellmanGroup.prototype, ['generateKeys'], IDS],
  [crypto, ['sign', 'createSign', 'publicEncrypt', 'encapsulate'], NONCE],
  [crypto, ['argon2', 'scrypt', 'pbkdf2', 'hkdf', 'checkPrime'], THREADS],
  [crypto.webcrypto.subtle, functionsOf(Object.getPrototypeOf(crypto.webcrypto.subtle) as object), THREADS],
  [zlib, ASYNCHRONOUS, THREADS],
  [workers, ['Worker'], THREADS],
  // The function of that name in node:crypto goes there too.
  [crypto.webcrypto, ['getRandomValues', 'randomUUID'], IDS],
  [globalThis, ['fetch'], OUTSIDE],
  [net.Socket.prototype, ['connect'], OUTSIDE],
  [net.Server.prototype, ['listen'], OUTSIDE],
  [net, ['connect', 'createConnection'], OUTSIDE],
  [dgram.Socket.prototype, ['bind', 'connect', 'send'], OUTSIDE],
  [http, ['request', 'get'], OUTSIDE],
  [https, ['request', 'get'], OUTSIDE],
  [dns, functionsOf(dns), OUTSIDE],
  [dns.promises, functionsOf(dns.promises), OUTSIDE],
  [dns.Resolver.prototype, functionsOf(dns.Resolver.prototype), OUTSIDE],
  [dns.promises.Resolver.prototype, functionsOf(dns.promises.Resolver.prototype), OUTSIDE],
  [childProcess, functionsOf(childProcess), OUTSIDE],
  // Files have times, and a disk takes its own.
  [fs, functionsOf(fs), OUTSIDE],
  [fs.promises, functionsOf(fs.promises), OUTSIDE],
]

/** What is read and not called. */
export const readings: readonly (readonly [holder: object, name: string, instead: string])[] = [
  [performance, 'timeOrigin', CLOCK],
  [performance, 'nodeTiming', CLOCK],
  [Event.prototype, 'timeStamp', CLOCK],
]

/** SQL that asks the real clock, or draws. */
export const FORBIDDEN_SQL =
  /\b(random|randomblob)\s*\(|\bcurrent_(time|date|timestamp)\b|'now'|\b(unixepoch|julianday|datetime|date|time)\s*\(\s*\)/i
