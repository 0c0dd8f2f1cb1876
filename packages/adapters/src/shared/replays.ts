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

/**
 * Hands the messages of a parked key over in order, those too that come meanwhile, until none is left or one cannot be
 * handled. The storage may fail at each step as a handler may, and is asked again.
 */
export async function replayKey<Message extends BusMessage>(
  source: ReplaySource<Message>,
  key: string,
  call: (message: Message) => Promise<Handled>,
  untilItWorks: (attempt: () => Promise<void>) => Promise<boolean>,
  stop: { readonly aborted: boolean },
): Promise<'free' | 'parked'> {
  let reached: 'on its way' | 'free' | 'parked' = 'on its way'
  while (reached === 'on its way') {
    const worked = await untilItWorks(async () => {
      // Asked at every try: whoever has the key now goes on with it.
      reached = stop.aborted ? 'parked' : await nextStep(source, key, call)
    })
    if (!worked) return 'parked'
  }
  return reached
}

async function nextStep<Message extends BusMessage>(
  source: ReplaySource<Message>,
  key: string,
  call: (message: Message) => Promise<Handled>,
): Promise<'on its way' | 'free' | 'parked'> {
  const message = await source.firstParked(key)
  if (!message) return (await source.release(key)) ? 'free' : 'on its way'
  const outcome = await call(message)
  if (outcome === 'done') {
    await source.unpark(message)
    return 'on its way'
  }
  await source.park(message, outcome.park, outcome.lost)
  outcome.kept?.()
  return 'parked'
}
