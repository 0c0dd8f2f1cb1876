import type { BusMessage, Handled } from '@penstock/ports/bus.ts'

/** What a replay asks of the storage of parked keys. */
export type ReplaySource<Message extends BusMessage> = {
  firstParked(key: string): Message | undefined | Promise<Message | undefined>
  /** Removes a message that was handled in a replay. */
  unpark(message: Message): Promise<void>
  park(message: Message, reason: string, lost?: readonly BusMessage[]): Promise<void>
  /** Frees the key if none of its messages is left. @returns whether it is free */
  release(key: string): Promise<boolean>
}

/** Hands the messages of a parked key over in order, those too that come meanwhile, until none is left or one cannot be handled. */
export async function replayKey<Message extends BusMessage>(
  source: ReplaySource<Message>,
  key: string,
  call: (message: Message) => Promise<Handled>,
  untilItWorks: (attempt: () => Promise<void>) => Promise<boolean>,
  stop: { readonly aborted: boolean },
): Promise<'free' | 'parked'> {
  while (!stop.aborted) {
    const message = await source.firstParked(key)
    if (!message) {
      if (await source.release(key)) return 'free'
      continue
    }
    let parkedAgain = false
    const worked = await untilItWorks(async () => {
      const outcome = await call(message)
      parkedAgain = outcome !== 'done'
      if (outcome === 'done') return source.unpark(message)
      await source.park(message, outcome.park, outcome.lost)
      outcome.kept?.()
    })
    if (!worked || parkedAgain) break
  }
  return 'parked'
}
