import type { BusMessage } from '@penstock/ports/bus.ts'
import type { ReplaySource } from '../../shared/parked-replay.ts'
import type { SharedParkedKeys, ParkedKeyState } from '../parked-tables.ts'
import type { ReceivedMessage } from './to-bus-message.ts'

/**
 * This process's copy of the parked keys of one group and topic. The shared table is authoritative. Two processes may read the
 * two lanes of a key. If one of them parks the key, the other handles messages of its lane until it reads the table again.
 */
export function createParkedKeysCache(
  subscriptionId: { readonly group: string; readonly topic: string },
  table: SharedParkedKeys,
) {
  let parked = new Set<string>()
  const replaying = new Set<string>()
  /** Number of changes by this process. A list that was read at an older version lacks such a change. */
  let version = 0
  const idOf = (key: string) => ({ ...subscriptionId, key })

  async function park(message: ReceivedMessage, reason: string, lost?: readonly BusMessage[]): Promise<void> {
    await table.park(idOf(message.key), message, reason, lost)
    version++
    parked.add(message.key)
  }
  const source: ReplaySource<ReceivedMessage> = {
    firstParked: (key) => table.first(idOf(key)),
    unpark: (message) => table.remove(idOf(message.key), message),
    park,
    release: (key) => table.release(idOf(key)),
  }
  return {
    source,
    park,
    version: () => version,
    /** Parks a message behind the other parked messages of its key. @returns false if the key is not parked */
    async parkBehind(message: ReceivedMessage): Promise<boolean> {
      if (!parked.has(message.key)) return false
      if (await table.parkBehind(idOf(message.key), message)) return true
      version++
      parked.delete(message.key)
      return false
    },
    /** @returns false for a list that was read before a change by this process */
    update(states: readonly ParkedKeyState[], listVersion: number): boolean {
      if (listVersion !== version) return false
      parked = new Set(states.map(({ key }) => key))
      return true
    },
    /** @returns false if the key is already being replayed */
    startReplay(key: string): boolean {
      if (replaying.has(key)) return false
      replaying.add(key)
      return true
    },
    endReplay(key: string, outcome: 'free' | 'parked'): void {
      replaying.delete(key)
      version++
      if (outcome === 'free') parked.delete(key)
    },
  }
}
