import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { CLOCK_HINT, BANNED_SQL, bannedFunctions, IDS_HINT, bannedProperties } from './banned-globals.ts'

/**
 * Bans the real clock, real randomness, real waits and other machines. A banned call throws an error that names the replacement.
 * Functions imported by name are banned too, since their bindings follow the module.
 * The ban misses functions that were stored before it (`const { now } = Date`), also those that a library stored. It misses
 * garbage collection (WeakRef, FinalizationRegistry), asynchronous WebAssembly and messages between ports. It also misses the
 * time zone and locale of the machine, and SQL that gets 'now' as a bound value.
 * @param onViolation receives each error, since the caller of a banned function may catch the error and retry
 * @returns a function that restores the globals
 */
export function forbidNondeterminism(onViolation: (error: NondeterminismError) => void = () => undefined): () => void {
  const fail = (what: string, instead: string): never => {
    const error = new NondeterminismError(`${what} is not for simulated code: ${instead}`)
    onViolation(error)
    throw error
  }
  const undo = bannedFunctions.flatMap(([holder, names, instead]) =>
    names.map((name) => banFunction(holder, name, () => fail(name, instead))),
  )
  undo.push(
    banCurrentDate((what) => fail(what, CLOCK_HINT)),
    banCurrentDateFormat(() => fail('a date format of now', CLOCK_HINT)),
    ...bannedProperties.map(([holder, name, instead]) => banProperty(holder, name, () => fail(name, instead))),
    ...(['prepare', 'exec'] as const).map((name) => banSql(name, (sql) => fail(sql, CLOCK_OR_IDS_HINT))),
  )
  syncBuiltinESMExports()
  return () => {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
}

const CLOCK_OR_IDS_HINT = `${CLOCK_HINT}, or ${IDS_HINT}`

function banFunction(holder: object, name: string, fail: () => never): () => void {
  // `new` can call this function too. `bigint` and `rss` stand for `process.hrtime.bigint` and `process.memoryUsage.rss`.
  function bannedCall(): never {
    return fail()
  }
  return replaceProperty(holder, name, { value: Object.assign(bannedCall, { bigint: fail, rss: fail }), writable: true })
}

const banProperty = (holder: object, name: string, fail: () => never): (() => void) =>
  replaceProperty(holder, name, { get: fail })

/** @returns a function that restores the previous property */
function replaceProperty(holder: object, name: string, by: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(holder, name)
  Object.defineProperty(holder, name, { ...by, configurable: true, enumerable: before?.enumerable ?? false })
  return () => {
    // Deleting the own property shows the inherited one again.
    if (before) Object.defineProperty(holder, name, before)
    else Reflect.deleteProperty(holder, name)
  }
}

/** A database in memory is deterministic unless SQL requests the time or a random number. */
function banSql(name: 'prepare' | 'exec', fail: (sql: string) => never): () => void {
  const real = DatabaseSync.prototype[name] as (this: DatabaseSync, sql: string, ...args: readonly unknown[]) => unknown // their type
  return replaceProperty(DatabaseSync.prototype, name, {
    value(this: DatabaseSync, sql: string, ...args: readonly unknown[]) {
      const [found] = BANNED_SQL.exec(sql) ?? []
      return found === undefined ? real.call(this, sql, ...args) : fail(`${found} in SQL`)
    },
    writable: true,
  })
}

/** Bans the current date only: dates of a given instant are deterministic and stay available. */
function banCurrentDate(fail: (what: string) => never): () => void {
  const RealDate = globalThis.Date
  globalThis.Date = new Proxy(RealDate, {
    apply: () => fail('Date()'),
    construct: (target, args: unknown[], self: unknown) =>
      args.length === 0 ? fail('new Date() without an instant') : (Reflect.construct(target, args, self as typeof Date) as Date),
    get: (target, name, self: unknown) =>
      name === 'now' ? () => fail('Date.now') : (Reflect.get(target, name, self) as unknown),
  })
  // Code can reach the real constructor through any date, so the property is replaced too.
  const restoreConstructor = replaceProperty(RealDate.prototype, 'constructor', { value: globalThis.Date, writable: true })
  return () => {
    restoreConstructor()
    globalThis.Date = RealDate
  }
}

/** Bans formatting the current date. A format call with an instant still works. */
function banCurrentDateFormat(fail: () => never): () => void {
  const { prototype } = Intl.DateTimeFormat
  const [format, parts] = ['format', 'formatToParts'].map((name) => Object.getOwnPropertyDescriptor(prototype, name))
  const realParts = parts?.value as Intl.DateTimeFormat['formatToParts'] // the original function
  const requireInstant =
    <T>(real: (date: Date | number) => T) =>
    (date?: Date | number) =>
      date === undefined ? fail() : real(date)
  Object.defineProperty(prototype, 'format', {
    ...format,
    get(this: Intl.DateTimeFormat) {
      return requireInstant(format?.get?.call(this) as Intl.DateTimeFormat['format']) // the original getter
    },
  })
  Object.defineProperty(prototype, 'formatToParts', {
    ...parts,
    value(this: Intl.DateTimeFormat, date?: Date | number) {
      return requireInstant((args) => realParts.call(this, args))(date)
    },
  })
  return () => Object.defineProperties(prototype, { ...(format && { format }), ...(parts && { formatToParts: parts }) })
}

/** Thrown when simulated code uses the real clock, real randomness or another machine. The stack shows the call. */
export class NondeterminismError extends Error {
  override readonly name = 'NondeterminismError'
}
