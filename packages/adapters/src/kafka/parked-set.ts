import type { BusMessage } from '@penstock/ports/bus.ts'
import type { ReplaySource } from '../shared/replays.ts'
import type { ParkedKeys, Waiting } from './parked-tables.ts'
import type { Received } from './received.ts'

/** Which keys of one group and topic are parked, as this process knows it: the table is the truth, and shared. */
export function parkedSet(place: { readonly group: string; readonly topic: string }, table: ParkedKeys) {
  let parked = new Set<string>()
  const replaying = new Set<string>()
  /** Counts what this process changed itself, which a list that was read before does not know. */
  let version = 0
  const of = (key: string) => ({ ...place, key })

  async function park(message: Received, reason: string, lost?: readonly BusMessage[]): Promise<void> {
    await table.park(of(message.key), message, reason, lost)
    version++
    parked.add(message.key)
  }
  const source: ReplaySource<Received> = {
    firstParked: (key) => table.first(of(key)),
    unpark: (message) => table.remove(of(message.key), message),
    park,
    release: (key) => table.release(of(key)),
  }
  return {
    source,
    park,
    version: () => version,
    /** Puts a message behind others of its key, if that is parked. */
    async takes(message: Received): Promise<boolean> {
      if (!parked.has(message.key)) return false
      if (await table.parkBehind(of(message.key), message)) return true
      version++
      parked.delete(message.key)
      return false
    },
    /** @returns false for a list that is older than what is known here */
    note(waiting: readonly Waiting[], asked: number): boolean {
      if (asked !== version) return false
      parked = new Set(waiting.map(({ key }) => key))
      return true
    },
    /** @returns false where it is being replayed */
    startReplay(key: string): boolean {
      if (replaying.has(key)) return false
      replaying.add(key)
      return true
    },
    replayed(key: string, outcome: 'free' | 'parked'): void {
      replaying.delete(key)
      version++
      if (outcome === 'free') parked.delete(key)
    },
  }
}
