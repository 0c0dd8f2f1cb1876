import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'

/** The storage of parked keys, as a replay uses it. */
export type ReplaySource<Message extends BusMessage> = {
  firstParked(key: string): Message | undefined | Promise<Message | undefined>
  /** Removes a message that was handled in a replay. */
  unpark(message: Message): Promise<void>
  park(message: Message, reason: string, lost?: readonly BusMessage[]): Promise<void>
  /** Releases the key if it has no parked message left. @returns whether the key was released */
  release(key: string): Promise<boolean>
}

/**
 * Handles the messages of a parked key again, in order and with new messages, until none is left or a message cannot be handled.
 * A failed storage step is retried like a failed handler.
 */
export async function replayKey<Message extends BusMessage>(
  source: ReplaySource<Message>,
  key: string,
  call: (message: Message) => Promise<HandlerResult>,
  retryUntilDone: (attempt: () => Promise<void>) => Promise<boolean>,
  stop: { readonly aborted: boolean },
): Promise<'free' | 'parked'> {
  let state: 'on its way' | 'free' | 'parked' = 'on its way'
  while (state === 'on its way') {
    const isDone = await retryUntilDone(async () => {
      // Every try checks for a stop, because the new owner of the key continues the replay.
      state = stop.aborted ? 'parked' : await replayNext(source, key, call)
    })
    if (!isDone) return 'parked'
  }
  return state
}

async function replayNext<Message extends BusMessage>(
  source: ReplaySource<Message>,
  key: string,
  call: (message: Message) => Promise<HandlerResult>,
): Promise<'on its way' | 'free' | 'parked'> {
  const message = await source.firstParked(key)
  if (!message) return (await source.release(key)) ? 'free' : 'on its way'
  const outcome = await call(message)
  if (outcome === 'done') {
    await source.unpark(message)
    return 'on its way'
  }
  await source.park(message, outcome.park, outcome.lostBefore)
  outcome.onStored?.()
  return 'parked'
}
