import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { CLOCK, FORBIDDEN_SQL, forbidden, IDS, readings } from './forbidden.ts'

/**
 * From now on nothing can read the real clock, draw real randomness, wait for real time or reach another machine without
 * an error that says what to use instead. What is imported by name is caught, since its binding follows the module.
 *
 * What escapes: a function that was taken by reference before (`const { now } = Date`), or that a library keeps for itself;
 * what garbage collection decides (WeakRef, FinalizationRegistry); asynchronous WebAssembly and messages between ports; the
 * time zone and the locale of the machine; and SQL that is given 'now' as a value.
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
    ...readings.map(([holder, name, instead]) => poisonReading(holder, name, () => fail(name, instead))),
    ...(['prepare', 'exec'] as const).map((name) => poisonSql(name, (sql) => fail(sql, CLOCK_OR_IDS))),
  )
  syncBuiltinESMExports()
  return () => {
    for (const restore of undo) restore()
    syncBuiltinESMExports()
  }
}

const CLOCK_OR_IDS = `${CLOCK}, or ${IDS}`

function poison(holder: object, name: string, fail: () => never): () => void {
  // A function that `new` can call too; `process.hrtime` and `process.memoryUsage` have one of their own.
  function forbiddenCall(): never {
    return fail()
  }
  return replace(holder, name, { value: Object.assign(forbiddenCall, { bigint: fail, rss: fail }), writable: true })
}

const poisonReading = (holder: object, name: string, fail: () => never): (() => void) => replace(holder, name, { get: fail })

/** @returns what puts back what was there */
function replace(holder: object, name: string, by: PropertyDescriptor): () => void {
  const before = Object.getOwnPropertyDescriptor(holder, name)
  Object.defineProperty(holder, name, { ...by, configurable: true, enumerable: before?.enumerable ?? false })
  return () => {
    // What was inherited shows again once the poison is gone.
    if (before) Object.defineProperty(holder, name, before)
    else Reflect.deleteProperty(holder, name)
  }
}

/** A database in memory is arithmetic as long as it is asked neither for the time nor for a random number. */
function poisonSql(name: 'prepare' | 'exec', fail: (sql: string) => never): () => void {
  const real = DatabaseSync.prototype[name] as (this: DatabaseSync, sql: string, ...given: readonly unknown[]) => unknown // as they are
  return replace(DatabaseSync.prototype, name, {
    value(this: DatabaseSync, sql: string, ...given: readonly unknown[]) {
      const [found] = FORBIDDEN_SQL.exec(sql) ?? []
      return found === undefined ? real.call(this, sql, ...given) : fail(`${found} in SQL`)
    },
    writable: true,
  })
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
  // A date knows what made it.
  const putBack = replace(RealDate.prototype, 'constructor', { value: globalThis.Date, writable: true })
  return () => {
    putBack()
    globalThis.Date = RealDate
  }
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

/** Simulated code has touched the real clock, real randomness or another machine: its stack says where. */
export class RealWorldTouched extends Error {
  override readonly name = 'RealWorldTouched'
}
