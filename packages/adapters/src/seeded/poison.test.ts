import { randomBytes, randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { poisonGlobals, RealWorldTouched } from './poison.ts'

const touches: Readonly<Record<string, () => unknown>> = {
  'Date.now': () => Date.now(),
  'new Date': () => new Date(),
  'Date()': () => (Date as () => string)(),
  'performance.now': () => performance.now(),
  'process.hrtime': () => process.hrtime(),
  'process.hrtime.bigint': () => process.hrtime.bigint(),
  'Math.random': () => Math.random(),
  setTimeout: () => setTimeout(() => undefined, 1),
  setInterval: () => setInterval(() => undefined, 1),
  setImmediate: () => setImmediate(() => undefined),
  'an imported timer': () => pause(1),
  'AbortSignal.timeout': () => AbortSignal.timeout(1),
  'imported random bytes': () => randomBytes(4),
  'an imported UUID': () => randomUUID(),
  'crypto.randomUUID': () => crypto.randomUUID(),
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
    await pause(1)
  })
})
