import type { Caller } from '../callers.ts'
import type { Gateway } from '../ports.ts'

/** What the resolvers of one request share. */
export type Context = {
  readonly gateway: Gateway
  readonly caller: Caller | null
  /** The caller's address, as far as proxies are believed. */
  readonly ip: string
  readonly requestId: string
  /** Runs operations of one request one after the other, in the order in which they were asked for. */
  readonly inTurn: <T>(operation: () => Promise<T>) => Promise<T>
}

/** GraphQL runs nested fields side by side; two `buy` in one document must not race. */
export function turns(): Context['inTurn'] {
  let last: Promise<unknown> = Promise.resolve()
  return (operation) => {
    const mine = last.then(operation)
    last = mine.catch(() => undefined)
    return mine
  }
}
