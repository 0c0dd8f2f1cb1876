import type { Versioned } from '@penstock/contracts/define.ts'
import { Bug, Fault } from '@penstock/kernel/result.ts'

/**
 * A fact or command of a newer version of Penstock, during a rolling upgrade. The message and its key wait until a process
 * of the newer version handles the message. Each version knows the shapes of all older versions, so an unknown type is
 * always newer, and not a mistake.
 */
export class NewerVersionFault extends Fault {
  constructor(subject: string) {
    super(`${subject} is newer than this version of Penstock`)
  }
}

/**
 * Converts the data of an older version to the current shape.
 * @throws NewerVersionFault
 * @throws Bug if an upcaster is missing
 */
export function upcast(known: Versioned, from: number, old: unknown, type: string): unknown {
  if (from > known.v) throw new NewerVersionFault(`${type} v${from}`)
  let data = old
  for (let v = from; v < known.v; v++) {
    const up = known.upcast[v]
    if (!up) throw new Bug(`${type} has no upcaster from v${v}`)
    data = up(data as never) // An upcaster takes the shape of its own version.
  }
  return data
}
