import {
  createDiffieHellman,
  createECDH,
  generatePrime,
  generatePrimeSync,
  getDiffieHellman,
  randomBytes,
  randomUUID,
  webcrypto,
} from 'node:crypto'
import { connect } from 'node:net'
import { scheduler, setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { poisonGlobals, RealWorldTouched } from './poison.ts'

const touches: Readonly<Record<string, () => unknown>> = {
  'Date.now': () => Date.now(),
  'new Date': () => new Date(),
  'Date()': () => (Date as () => string)(),
  'performance.now': () => performance.now(),
  'performance.mark': () => performance.mark('now'),
  'performance.toJSON': () => performance.toJSON() as unknown,
  'performance.timeOrigin': () => performance.timeOrigin,
  'a date format of now': () => new Intl.DateTimeFormat().format(),
  'a date format of nothing': () => new Intl.DateTimeFormat().format(undefined),
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
  'a prime at once': () => generatePrimeSync(32),
  'keys on a curve': () => createECDH('secp256k1').generateKeys(),
  'keys of a group': () => getDiffieHellman('modp14').generateKeys(),
  'a group of its own': () => createDiffieHellman(64),
  'crypto.randomUUID': () => crypto.randomUUID(),
  'crypto.subtle': () => crypto.subtle.digest('SHA-256', new Uint8Array(1)),
  'imported crypto.subtle': () => webcrypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, false, ['encrypt']),
  getRandomValues: () => crypto.getRandomValues(new Uint8Array(4)),
  fetch: () => fetch('http://127.0.0.1:1'),
  'a connection': () => connect(1, '127.0.0.1'),
}

describe('a poisoned world', () => {
  let restore = (): void => undefined
  afterEach(() => restore())

  for (const [name, touch] of Object.entries(touches))
    it(`forbids ${name}, and says so`, () => {
      const told: Error[] = []
      restore = poisonGlobals((error) => told.push(error))
      let thrown: unknown
      try {
        touch()
      } catch (error) {
        thrown = error
      }
      restore()
      expect(thrown).toBeInstanceOf(RealWorldTouched)
      expect(String(thrown)).toMatch(/is not for simulated code: .*port/)
      expect(told).toEqual([thrown])
    })
  it('leaves dates of a given instant alone, and everything once it is over', async () => {
    restore = poisonGlobals()
    const date = new Date(0)
    const [text, isDate, utc, parsed] = [date.toISOString(), date instanceof Date, Date.UTC(1970, 0, 2), Date.parse('1970-01-02')]
    const inUtc = new Intl.DateTimeFormat('en', { timeZone: 'UTC', year: 'numeric' })
    const years = [inUtc.format(date), inUtc.format(0), inUtc.formatToParts(0)[0]?.value]
    restore()
    expect([text, isDate, utc, parsed]).toEqual(['1970-01-01T00:00:00.000Z', true, 86_400_000, 86_400_000])
    expect([Date.now() > 0, new Date() instanceof Date, Math.random() < 1, performance.now() > 0]).toEqual([
      true,
      true,
      true,
      true,
    ])
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

  it('lets escape what was taken by reference before', () => {
    const { now } = Date
    restore = poisonGlobals()
    expect(now()).toBeGreaterThan(0)
  })
})
