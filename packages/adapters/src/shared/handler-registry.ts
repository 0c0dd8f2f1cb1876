import type { BusMessage, HandlerResult } from '@penstock/ports/bus.ts'

export type MessageHandler = (message: BusMessage) => Promise<HandlerResult>
/** Called with each message that was set aside behind a parked one. */
export type AsideListener = (message: BusMessage) => void

type RegisteredHandler = { readonly pending: Set<Promise<HandlerResult>>; readonly aside: AsideListener }

/** Registers the handlers that share the messages of a group and topic in turn, with the pending calls of each. */
export function createHandlerRegistry() {
  const registered = new Map<MessageHandler, RegisteredHandler>()
  let nextIndex = 0
  const next = (): [MessageHandler, RegisteredHandler] | undefined => [...registered][nextIndex++ % registered.size]
  return {
    count: () => registered.size,
    add: (handle: MessageHandler, aside: AsideListener): void => void registered.set(handle, { pending: new Set(), aside }),
    /** Removes a handler from the rotation. @returns a promise for its pending calls */
    async remove(handle: MessageHandler): Promise<void> {
      const pending = [...(registered.get(handle)?.pending ?? [])]
      registered.delete(handle)
      await Promise.allSettled(pending)
    },
    call: async ({ id, key, headers, body }: BusMessage): Promise<HandlerResult> => {
      const entry = next()
      if (!entry) throw new Error('no handler is subscribed any more')
      const [handle, { pending }] = entry
      const answer = handle({ id, key, headers, body })
      pending.add(answer)
      try {
        return await answer
      } finally {
        pending.delete(answer)
      }
    },
    /** Calls only one handler, because all handlers share their progress. */
    aside: ({ id, key, headers, body }: BusMessage): void => next()?.[1].aside({ id, key, headers, body }),
  }
}
