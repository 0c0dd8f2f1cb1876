import crypto from 'node:crypto'
import dns from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'

/** An object, the names of its functions that reach the real world, and what to use instead. */
type Forbidden = readonly [holder: object, names: readonly string[], instead: string]

const CLOCK = 'ask the clock port (ports/clock.ts)'
const SLEEP = 'sleep with the clock port (ports/clock.ts)'
const IDS = 'draw from the ids port (ports/clock.ts)'
const OUTSIDE = 'reach the outside through a port'
const THREADS = 'it runs on a real thread: take the synchronous one or a port'
const LOAD = 'what it says hangs on the machine: measure through a port'

const SUBTLE = Object.getOwnPropertyNames(crypto.webcrypto.subtle.constructor.prototype).filter((name) => name !== 'constructor')

const forbidden: readonly Forbidden[] = [
  [globalThis, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timers, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timersPromises, ['setTimeout', 'setInterval', 'setImmediate'], SLEEP],
  [timersPromises.scheduler, ['wait', 'yield'], SLEEP],
  [AbortSignal, ['timeout'], SLEEP],
  [performance, ['now', 'mark', 'measure', 'toJSON'], CLOCK],
  [process, ['hrtime', 'uptime'], CLOCK],
  [performance, ['eventLoopUtilization'], LOAD],
  [process, ['cpuUsage', 'memoryUsage', 'resourceUsage'], LOAD],
  [Math, ['random'], IDS],
  [crypto, ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'pseudoRandomBytes'], IDS],
  [crypto, ['generateKey', 'generateKeySync', 'generateKeyPair', 'generateKeyPairSync'], IDS],
  [crypto, ['generatePrime', 'generatePrimeSync', 'createDiffieHellman'], IDS],
  // Of every curve and group, however it was made; agreeing on a secret with given keys is arithmetic.
  [crypto.ECDH.prototype, ['generateKeys'], IDS],
  [crypto.DiffieHellman.prototype, ['generateKeys'], IDS],
  [crypto.DiffieHellmanGroup.prototype, ['generateKeys'], IDS],
  [crypto, ['argon2', 'scrypt', 'pbkdf2', 'hkdf'], THREADS],
  [crypto.webcrypto.subtle, SUBTLE, THREADS],
  // The function of that name in node:crypto goes there too.
  [crypto.webcrypto, ['getRandomValues', 'randomUUID'], IDS],
  [globalThis, ['fetch'], OUTSIDE],
  [net.Socket.prototype, ['connect'], OUTSIDE],
  [net.Server.prototype, ['listen'], OUTSIDE],
  [net, ['connect', 'createConnection'], OUTSIDE],
  [http, ['request', 'get'], OUTSIDE],
  [https, ['request', 'get'], OUTSIDE],
  [dns, ['lookup', 'resolve'], OUTSIDE],
]

/**
 * From now on nothing can read the real clock, draw real randomness, wait for real time or reach another machine without
 * an error that says what to use instead. A function that was taken by reference before (`const { now } = Date`) escapes, as
 * does one that a library keeps for itself: what is imported by name is caught, since its binding follows the module.
 * @param touched is told of each, since whoever called may try again whatever it is that failed
 * @returns what makes it as it was
 */
export function poisonGlobals(touched: (error: RealWorldTouched) => void = () => undefined): () => void {
  const fail = (what: string, instead: string): never => {
    const error = new RealWorldTouched(`${what} is not for simulated code: ${instead}`)
    touched(error)
    throw error
  }
  const undo = forbidden.flatMap(([holder, names, instead]) =>
    names.map((name) => poison(holder, name, () => fail(name, instead))),
  )
  undo.push(
    poisonDate((what) => fail(what, CLOCK)),
    poisonFormat(() => fail('a date format of now', CLOCK)),
    poisonOrigin(() => fail('performance.timeOrigin', CLOCK)),
  )
  syncBuiltinESMExports()
  return () => {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
}

function poison(holder: object, name: string, fail: () => never): () => void {
  const before = Object.getOwnPropertyDescriptor(holder, name)
  // `process.hrtime` and `process.memoryUsage` have a function of their own.
  const value = Object.assign(() => fail(), { bigint: fail, rss: fail })
  Object.defineProperty(holder, name, { value, configurable: true, enumerable: before?.enumerable ?? false, writable: true })
  return () => {
    // What was inherited shows again once the poison is gone.
    if (before) Object.defineProperty(holder, name, before)
    else Reflect.deleteProperty(holder, name)
  }
}

/** Dates of a given instant are arithmetic and stay. */
function poisonDate(fail: (what: string) => never): () => void {
  const RealDate = globalThis.Date
  globalThis.Date = new Proxy(RealDate, {
    apply: () => fail('Date()'),
    construct: (target, given: unknown[], self: unknown) =>
      given.length === 0
        ? fail('new Date() without an instant')
        : (Reflect.construct(target, given, self as typeof Date) as Date),
    get: (target, name, self: unknown) =>
      name === 'now' ? () => fail('Date.now') : (Reflect.get(target, name, self) as unknown),
  })
  return () => void (globalThis.Date = RealDate)
}

/** What is given its instant formats it. */
function poisonFormat(fail: () => never): () => void {
  const { prototype } = Intl.DateTimeFormat
  const [format, parts] = ['format', 'formatToParts'].map((name) => Object.getOwnPropertyDescriptor(prototype, name))
  const realParts = parts?.value as Intl.DateTimeFormat['formatToParts'] // the function that it had
  const ofGiven =
    <T>(real: (date: Date | number) => T) =>
    (date?: Date | number) =>
      date === undefined ? fail() : real(date)
  Object.defineProperty(prototype, 'format', {
    ...format,
    get(this: Intl.DateTimeFormat) {
      return ofGiven(format?.get?.call(this) as Intl.DateTimeFormat['format']) // the getter that it had
    },
  })
  Object.defineProperty(prototype, 'formatToParts', {
    ...parts,
    value(this: Intl.DateTimeFormat, date?: Date | number) {
      return ofGiven((given) => realParts.call(this, given))(date)
    },
  })
  return () => Object.defineProperties(prototype, { ...(format && { format }), ...(parts && { formatToParts: parts }) })
}

function poisonOrigin(fail: () => never): () => void {
  Object.defineProperty(performance, 'timeOrigin', { get: fail, configurable: true })
  // What was inherited shows again.
  return () => Reflect.deleteProperty(performance, 'timeOrigin')
}

/** Simulated code has touched the real clock, real randomness or another machine: its stack says where. */
export class RealWorldTouched extends Error {
  override readonly name = 'RealWorldTouched'
}
