import { readFileSync } from 'node:fs'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import { authenticatedLndGrpc, type AuthenticatedLnd } from 'lightning'
import { asFault, Unreached } from './refusal.ts'

/** Where a node is, and what lets us in. */
export type LndAddress = {
  /** host:port of its gRPC. A name: TLS knows no IP addresses here. */
  readonly socket: string
  readonly certFile: string
  readonly macaroonFile: string
}

export type Connection = {
  readonly clock: Clock
  /** The client now: another one after the node was away for long. */
  readonly lnd: () => AuthenticatedLnd
  /** One call. @throws Refusal for lnd's no, another Fault where it does not answer within the limit */
  readonly ask: <T>(work: (lnd: AuthenticatedLnd) => Promise<T>, timeoutMs?: number) => Promise<T>
}

const ANSWER_MS = 30_000
/**
 * gRPC waits longer and longer between its attempts to connect, up to two minutes; a new client begins at once. Making
 * one reads all of lnd's definitions, a quarter of a second of work.
 */
const NEW_CLIENT_AFTER_MS = 10_000

/** @throws Fault where the files cannot be read */
export function connectLnd({ socket, certFile, macaroonFile }: LndAddress, clock: Clock): Connection {
  const macaroon = read(macaroonFile)
  // Read each time: lnd makes a new certificate where the old one has lapsed.
  const connect = (): AuthenticatedLnd => authenticatedLndGrpc({ cert: read(certFile), macaroon, socket }).lnd
  let client = connect()
  let madeAt = clock.monotonicMs()
  const renew = (unreached: AuthenticatedLnd): void => {
    if (unreached !== client || clock.monotonicMs() - madeAt <= NEW_CLIENT_AFTER_MS) return
    madeAt = clock.monotonicMs()
    client = connect()
  }
  return {
    clock,
    lnd: () => client,
    async ask(work, timeoutMs = ANSWER_MS) {
      const asked = client
      let answered = false
      try {
        return await within(
          clock,
          timeoutMs,
          work(asked).finally(() => (answered = true)),
        )
      } catch (error) {
        const fault = answered ? asFault(error) : new Unreached(`lnd gave no answer within ${timeoutMs} ms`, { cause: error })
        if (fault instanceof Unreached) renew(asked)
        throw fault
      }
    },
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'base64')
  } catch (error) {
    throw new Fault(`${file} cannot be read: it is needed to talk to lnd`, { cause: error })
  }
}
