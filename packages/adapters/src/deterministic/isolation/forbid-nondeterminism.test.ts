import { execFileSync, spawn } from 'node:child_process'
import {
  createDiffieHellman,
  createECDH,
  createSign,
  generateKeyPairSync,
  generatePrime,
  generatePrimeSync,
  getDiffieHellman,
  publicEncrypt,
  randomBytes,
  randomUUID,
  randomUUIDv7,
  sign,
  webcrypto,
} from 'node:crypto'
import { createSocket } from 'node:dgram'
import { lookup, promises, Resolver } from 'node:dns'
import { existsSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { freemem, uptime } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { scheduler, setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createGzip, gzip, gzipSync } from 'node:zlib'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { forbidNondeterminism, NondeterminismError } from './forbid-nondeterminism.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const database = new DatabaseSync(':memory:')
const socket = createSocket('udp4')
afterAll(() => {
  database.close()
  socket.close()
})

const violations: Readonly<Record<string, () => unknown>> = {
  'Date.now': () => Date.now(),
  'new Date': () => new Date(),
  'Date()': () => (Date as () => string)(),
  'performance.now': () => performance.now(),
  'performance.mark': () => performance.mark('now'),
  'performance.toJSON': () => performance.toJSON() as unknown,
  'performance.timeOrigin': () => performance.timeOrigin,
  'a date format of now': () => new Intl.DateTimeFormat().format(),
  'a date format without an instant': () => new Intl.DateTimeFormat().format(undefined),
  'a date format of now in parts': () => new Intl.DateTimeFormat().formatToParts(),
  'process.hrtime': () => process.hrtime(),
  'process.hrtime.bigint': () => process.hrtime.bigint(),
  'process.cpuUsage': () => process.cpuUsage(),
  'process.resourceUsage': () => process.resourceUsage(),
  'process.memoryUsage': () => process.memoryUsage(),
  'process.memoryUsage.rss': () => process.memoryUsage.rss(),
  'performance.eventLoopUtilization': () => performance.eventLoopUtilization(),
  'Math.random': () => Math.random(),
  setTimeout: () => setTimeout(() => undefined, 1),
  setInterval: () => setInterval(() => undefined, 1),
  setImmediate: () => setImmediate(() => undefined),
  'an imported timer': () => pause(1),
  'scheduler.wait': () => scheduler.wait(1),
  'scheduler.yield': () => scheduler.yield(),
  'AbortSignal.timeout': () => AbortSignal.timeout(1),
  'imported random bytes': () => randomBytes(4),
  'an imported UUID': () => randomUUID(),
  'a prime': () => generatePrime(32, () => undefined),
  'a synchronous prime': () => generatePrimeSync(32),
  'keys on a curve': () => createECDH('secp256k1').generateKeys(),
  'keys of a Diffie-Hellman group': () => getDiffieHellman('modp14').generateKeys(),
  'a new Diffie-Hellman group': () => createDiffieHellman(64),
  'crypto.randomUUID': () => crypto.randomUUID(),
  'crypto.subtle': () => crypto.subtle.digest('SHA-256', new Uint8Array(1)),
  'imported crypto.subtle': () => webcrypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']),
  getRandomValues: () => crypto.getRandomValues(new Uint8Array(4)),
  'crypto.randomUUIDv7': () => randomUUIDv7(),
  'the clock of the constructor of a date': () => (new Date(0).constructor as DateConstructor).now(),
  'the time of an event': () => new Event('abort').timeStamp,
  'performance.nodeTiming': () => performance.nodeTiming,
  'the uptime of the machine': () => uptime(),
  'free memory': () => freemem(),
  'the delay of the event loop': () => monitorEventLoopDelay(),
  'a wait for shared memory': () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1),
  'an asynchronous wait for shared memory': () => Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1),
  'the timestamps of a file': () => statSync('.'),
  'an asynchronous file access': () => stat('.'),
  'a child process': () => spawn('true'),
  'a synchronous child process': () => execFileSync('true'),
  'another thread': () => new Worker('', { eval: true }),
  'asynchronous compression': () => gzip('', () => undefined),
  'compression as a stream': () => createGzip(),
  'a DNS lookup': () => lookup('localhost', () => undefined),
  'a DNS lookup with a promise': () => promises.resolve4('localhost'),
  'a DNS lookup with a new resolver': () => new Resolver().resolve4('localhost', () => undefined),
  'a signature with a random nonce': () => sign('sha256', Buffer.alloc(1), privateKey),
  'a signer': () => createSign('sha256'),
  'public-key encryption': () => publicEncrypt(publicKey, Buffer.alloc(1)),
  'a datagram': () => socket.send('', 1, '127.0.0.1'),
  'random numbers in SQL': () => database.prepare('select random()'),
  'random bytes in SQL': () => database.exec('create table t (id blob default (randomblob(4)))'),
  'the time in SQL': () => database.prepare("select datetime('now')"),
  'seconds in SQL': () => database.prepare('select unixepoch()'),
  'the day in SQL': () => database.exec('create table t (day text default current_date)'),
  fetch: () => fetch('http://127.0.0.1:1'),
  'a connection': () => connect(1, '127.0.0.1'),
}

describe('forbidNondeterminism', () => {
  let restore = (): void => undefined
  afterEach(() => restore())

  for (const [name, violate] of Object.entries(violations))
    it(`rejects ${name} and reports the error`, () => {
      const reported: Error[] = []
      restore = forbidNondeterminism((error) => reported.push(error))
      let thrown: unknown
      try {
        violate()
      } catch (error) {
        thrown = error
      }
      restore()
      expect(thrown).toBeInstanceOf(NondeterminismError)
      expect(String(thrown)).toMatch(/is not for simulated code: .*port/)
      expect(reported).toEqual([thrown])
    })
  it('accepts dates of a given instant, and restores every banned function', async () => {
    restore = forbidNondeterminism()
    const date = new Date(0)
    const [text, isDate, utc, parsed] = [date.toISOString(), date instanceof Date, Date.UTC(1970, 0, 2), Date.parse('1970-01-02')]
    const inUtc = new Intl.DateTimeFormat('en', { timeZone: 'UTC', year: 'numeric' })
    const seconds = database.prepare('select unixepoch(?) as seconds, date(0) as day').get('1970-01-02')
    const years = [inUtc.format(date), inUtc.format(0), inUtc.formatToParts(0)[0]?.value]
    restore()
    expect([text, isDate, utc, parsed]).toEqual(['1970-01-01T00:00:00.000Z', true, 86_400_000, 86_400_000])
    expect([Date.now() > 0, new Date() instanceof Date, Math.random() < 1, performance.now() > 0]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(seconds).toEqual({ seconds: 86_400, day: '-4713-11-24' })
    expect([(date.constructor as DateConstructor).now() > 0, new Event('abort').timeStamp > 0]).toEqual([true, true])
    expect([existsSync('.'), gzipSync('').length > 0, uptime() > 0, performance.nodeTiming.duration > 0]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(database.prepare('select random() % 2 as drawn').get()).toHaveProperty('drawn')
    expect(sign('sha256', Buffer.alloc(1), privateKey).length).toBe(128)
    expect(crypto.getRandomValues(new Uint8Array(4))).toHaveLength(4)
    expect(randomUUID()).toHaveLength(36)
    expect(years).toEqual(['1970', '1970', '1970'])
    expect(inUtc.format()).toBe(inUtc.formatToParts()[0]?.value)
    expect(performance.timeOrigin).toBeGreaterThan(0)
    expect(await crypto.subtle.digest('SHA-256', new Uint8Array(1))).toHaveProperty('byteLength', 32)
    expect([process.memoryUsage.rss() > 0, process.cpuUsage().user >= 0, generatePrimeSync(32).byteLength]).toEqual([
      true,
      true,
      4,
    ])
    expect(createECDH('secp256k1').generateKeys()).toHaveLength(65)
    await scheduler.wait(1)
    await scheduler.yield()
    await pause(1)
  })

  it('does not catch a function that was stored before the ban', () => {
    const { now } = Date
    restore = forbidNondeterminism()
    expect(now()).toBeGreaterThan(0)
  })
})
