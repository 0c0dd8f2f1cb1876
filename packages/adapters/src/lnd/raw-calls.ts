import { asFault } from './refusal.ts'

type Done<T> = (error: object | null, answer?: T) => void

/** A call of lnd that `lightning` has no function for, or none that takes what is needed. */
export const asked = <T = void>(name: string, call: (done: Done<T>) => void): Promise<T | undefined> =>
  new Promise((resolve, reject) =>
    call((error, answer) => (error ? reject(asFault([503, `Unexpected${name}Error`, { err: error }])) : resolve(answer))),
  )
