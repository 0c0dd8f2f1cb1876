import { toLndFault } from './rpc-errors.ts'

type GrpcCallback<T> = (error: object | null, answer?: T) => void

/** Makes a call of lnd for which `lightning` has no function with the needed parameters. */
export const callGrpc = <T = void>(name: string, call: (done: GrpcCallback<T>) => void): Promise<T | undefined> =>
  new Promise((resolve, reject) =>
    call((error, answer) => (error ? reject(toLndFault([503, `Unexpected${name}Error`, { err: error }])) : resolve(answer))),
  )
