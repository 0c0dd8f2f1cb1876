import type { Handled } from '@penstock/ports/bus.ts'
import { type Aside, type Handle, handlers } from './handlers.ts'
import type { LaneSource, Sequenced } from './lane-source.ts'
import { type Lane, laneTable } from './lanes.ts'
import { pages } from './pages.ts'
import { replayKey } from './replays.ts'
import { retries, type RetryOptions } from './retries.ts'
import { slots } from './slots.ts'
import { taskSet } from './task-set.ts'

export type DispatcherOptions = RetryOptions & { readonly concurrency: number }

export type Dispatcher = {
  /** After the log has grown: takes from it whatever can be worked on. */
  pump(): void
  /** Handlers share the work; the dispatcher ends with its last one. */
  add(handle: Handle, aside: Aside): void
  /** `done` resolves when nothing of this handler is in hand; with the last one, when the progress is kept too. */
  remove(handle: Handle): { readonly isLast: boolean; readonly done: Promise<void> }
  replay(key: string): void
}

/** Keys in back-off for each key that may run. Beyond that nearly everything fails, and waiting is right. */
const LANES_PER_SLOT = 16

/**
 * Hands the messages of one group and topic to its handlers: one lane per key, lanes side by side. What is in memory is
 * bounded by lanes and by messages per lane; the rest waits in the log.
 */
export function dispatcher(source: LaneSource, options: DispatcherOptions): Dispatcher {
  const running = slots(options.concurrency)
  const lanes = laneTable(source)
  const sharing = handlers()
  const stop = new AbortController()
  const log = pages(source)
  const parked = parkedKeys(source)
  const tasks = taskSet()
  const progress = (): number => lanes.progress(log.seen())
  const keep = progressSaver(source, progress)
  const untilItWorks = retries(running, options, stop.signal, () => pump(false))

  function pump(hasGrown: boolean): void {
    if (stop.signal.aborted || sharing.count() === 0) return
    for (let message = log.peek(hasGrown); message && take(message); message = log.peek(false)) log.take(message)
    keep()
  }
  function take(message: Sequenced): boolean {
    if (lanes.follow(message)) return true
    if (lanes.count() >= options.concurrency * LANES_PER_SLOT || !running.tryTake()) return false
    tasks.add(run(lanes.open(message)))
    return true
  }
  async function run(lane: Lane): Promise<void> {
    for (let message = lanes.next(lane); message; message = lanes.next(lane))
      if (stop.signal.aborted || !(await deliver(message))) return running.giveBack()
    lanes.close(lane)
    running.giveBack()
    pump(false)
  }
  /** @returns false where the dispatcher was stopped before the message was handled */
  const deliver = (message: Sequenced): Promise<boolean> =>
    untilItWorks(async () => {
      if (await parked.takes(message)) return sharing.aside(message)
      await parked.unlessDone(message, await sharing.call(message))
    })
  async function replay(key: string): Promise<void> {
    await running.take()
    const outcome = await replayKey(source, key, sharing.call, untilItWorks, stop.signal)
    parked.replayed(key, outcome)
    running.giveBack()
    pump(false)
  }
  const startReplay = (key: string): void => {
    if (!stop.signal.aborted && parked.startReplay(key)) tasks.add(replay(key))
  }

  return {
    pump: () => pump(true),
    replay: startReplay,
    add(handle, aside) {
      sharing.add(handle, aside)
      if (sharing.count() === 1) parked.load().forEach(startReplay)
    },
    remove(handle) {
      const inHand = sharing.remove(handle)
      const isLast = sharing.count() === 0 && !stop.signal.aborted
      if (!isLast) return { isLast, done: inHand }
      stop.abort()
      return { isLast, done: tasks.ended().then(() => source.saveNow(progress())) }
    },
  }
}

/** Which keys are parked, and which of those are being replayed. */
function parkedKeys(source: LaneSource) {
  const parked = new Set<string>()
  const replaying = new Set<string>()
  return {
    /** @returns the keys whose replay was asked for before */
    load(): readonly string[] {
      const keys = source.parkedKeys()
      for (const { key } of keys) parked.add(key)
      return keys.filter((key) => key.replaying).map(({ key }) => key)
    },
    /** Puts a message behind others of its key, if that is parked. */
    async takes(message: Sequenced): Promise<boolean> {
      if (!parked.has(message.key)) return false
      if (await source.parkBehind(message)) return true
      parked.delete(message.key)
      return false
    },
    async unlessDone(message: Sequenced, outcome: Handled): Promise<void> {
      if (outcome === 'done') return
      await source.park(message, outcome.park)
      parked.add(message.key)
      outcome.kept?.()
    },
    /** @returns false where it is being replayed */
    startReplay(key: string): boolean {
      if (replaying.has(key)) return false
      parked.add(key)
      replaying.add(key)
      return true
    },
    replayed(key: string, outcome: 'free' | 'parked'): void {
      replaying.delete(key)
      if (outcome === 'free') parked.delete(key)
    },
  }
}

/** Asks to be called back for the progress whenever it has changed, once at a time. */
function progressSaver(source: LaneSource, progress: () => number): () => void {
  let saved = source.progress()
  let saving = false
  return () => {
    if (saving || progress() === saved) return
    saving = true
    source.saveSoon(() => {
      saving = false
      saved = progress()
      return saved
    })
  }
}
