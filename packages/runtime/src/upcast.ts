import type { Versioned } from '@penstock/contracts/define.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'

/**
 * Written by a newer version of Penstock, while it is rolled out beside this one. It waits, and with it its key: a process of
 * the newer version takes it, or this one is replaced. What was once written is never forgotten, so neither is a name that
 * nobody here knows a mistake.
 */
export class TooNew extends Fault {
  constructor(what: string) {
    super(`${what} is newer than this version of Penstock`)
  }
}

/**
 * Brings the data of an older version into today's shape.
 * @throws TooNew
 * @throws Bug where a step is missing
 */
export function upcast(known: Versioned, from: number, old: unknown, type: string): unknown {
  if (from > known.v) throw new TooNew(`${type} v${from}`)
  let data = old
  for (let v = from; v < known.v; v++) {
    const up = known.upcast[v]
    if (!up) throw new Bug(`${type} has no upcaster from v${v}`)
    data = up(data as never) // an upcaster takes the shape of its own version
  }
  return data
}
