import type { BusMessage, Handled } from '@penstock/ports/bus.ts'

export type Handle = (message: BusMessage) => Promise<Handled>
/** Told of what was set aside behind a parked message. */
export type Aside = (message: BusMessage) => void

type Taking = { readonly pending: Set<Promise<Handled>>; readonly aside: Aside }

/** Those who share the messages of a group and topic, taking turns, and the calls that each has in hand. */
export function handlers() {
  const takers = new Map<Handle, Taking>()
  let turn = 0
  const next = (): [Handle, Taking] | undefined => [...takers][turn++ % takers.size]
  return {
    count: () => takers.size,
    add: (handle: Handle, aside: Aside): void => void takers.set(handle, { pending: new Set(), aside }),
    /** Nothing more is given to this one. @returns a promise for what it has in hand */
    async remove(handle: Handle): Promise<void> {
      const pending = [...(takers.get(handle)?.pending ?? [])]
      takers.delete(handle)
      await Promise.allSettled(pending)
    },
    call: async ({ id, key, headers, body }: BusMessage): Promise<Handled> => {
      const taker = next()
      if (!taker) throw new Error('nobody is subscribed any more')
      const [handle, { pending }] = taker
      const answer = handle({ id, key, headers, body })
      pending.add(answer)
      try {
        return await answer
      } finally {
        pending.delete(answer)
      }
    },
    /** They share their progress too, so one of them is told. */
    aside: ({ id, key, headers, body }: BusMessage): void => next()?.[1].aside({ id, key, headers, body }),
  }
}
