import type { Handled } from '@penstock/ports/bus.ts'
import type { DispatcherOptions } from '../shared/dispatcher.ts'
import { type Aside, type Handle, handlers } from '../shared/handlers.ts'
import { replayKey } from '../shared/replays.ts'
import { retries } from '../shared/retries.ts'
import { slots } from '../shared/slots.ts'
import { taskSet } from '../shared/task-set.ts'
import { gate } from './gate.ts'
import { type Item, keyLanes } from './key-lanes.ts'
import type { ParkedKeys, Waiting } from './parked-tables.ts'
import { parkedSet } from './parked-set.ts'
import type { Received } from './received.ts'
import type { Window } from './window.ts'

/**
 * The messages of one group and topic in this process: a lane per key, lanes side by side.
 * @param owned the window of a partition, if this process has it
 */
export function work(
  place: { readonly group: string; readonly topic: string },
  parked: ParkedKeys,
  owned: (partition: number) => Window | undefined,
  options: DispatcherOptions,
) {
  const running = slots(options.concurrency)
  const sharing = handlers()
  const stop = new AbortController()
  const door = gate(stop.signal)
  const keys = parkedSet(place, parked)
  const untilItWorks = retries(running, options, stop.signal, () => {})
  const tasks = taskSet()
  const deliver = ({ message, window }: Item): Promise<boolean> =>
    untilItWorks(() =>
      door.through(async () => {
        if (window.isLost()) return
        if (await keys.takes(message)) return sharing.aside(message)
        const outcome = await sharing.call(message)
        if (outcome !== 'done') await keys.park(message, outcome.park, outcome.lost).then(outcome.kept)
      }),
    )
  const lanes = keyLanes(running, deliver)
  const again = (message: Received): Promise<Handled> => door.through(() => sharing.call(message))

  async function replay({ key, partition }: Waiting): Promise<void> {
    await running.take()
    // Whoever has the partition goes on with the replay.
    const over = {
      get aborted() {
        return stop.signal.aborted || owned(partition) === undefined
      },
    }
    const outcome = await replayKey(keys.source, key, again, untilItWorks, over)
    keys.replayed(key, outcome)
    running.giveBack()
  }

  return {
    add: (handle: Handle, aside: Aside): void => sharing.add(handle, aside),
    /** @returns whether nobody is left, and a promise for what the handler has in hand */
    remove(handle: Handle): { readonly isLast: boolean; readonly inHand: Promise<void> } {
      const inHand = sharing.remove(handle)
      return { isLast: sharing.count() === 0 && !stop.signal.aborted, inHand }
    },
    take: (message: Received, window: Window): void => {
      if (window.take(message.offset)) tasks.add(lanes.put({ message, window }))
    },
    /** Which keys are parked now, by the table that all members share; replays that were asked for are begun here. */
    noteParked(waiting: readonly Waiting[], asked: number): boolean {
      if (!keys.note(waiting, asked)) return false
      for (const key of waiting)
        if (key.replaying && !stop.signal.aborted && owned(key.partition) && keys.startReplay(key.key)) tasks.add(replay(key))
      return true
    },
    /** For `noteParked`: a list that was asked for at another version is older than what is known here. */
    parkedVersion: keys.version,
    /** Begins nothing more until `release`. It resolves when nothing is in hand. */
    hold: () => door.close(),
    release: () => door.open(),
    async stop(): Promise<void> {
      stop.abort()
      door.open()
      await tasks.ended()
    },
  }
}
