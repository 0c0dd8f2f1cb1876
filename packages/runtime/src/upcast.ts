import type { Versioned } from '@penstock/contracts/define.ts'
import { Bug } from '@penstock/kernel/result.ts'

/**
 * Brings the data of an older version into today's shape.
 * @throws Bug where the version is newer than this code, or a step is missing
 */
export function upcast(known: Versioned, from: number, old: unknown, type: string): unknown {
  if (from > known.v) throw new Bug(`${type} v${from} is newer than this version of Penstock`)
  let data = old
  for (let v = from; v < known.v; v++) {
    const up = known.upcast[v]
    if (!up) throw new Bug(`${type} has no upcaster from v${v}`)
    data = up(data as never) // an upcaster takes the shape of its own version
  }
  return data
}
