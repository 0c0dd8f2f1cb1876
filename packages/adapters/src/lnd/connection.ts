import { readFileSync } from 'node:fs'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { authenticatedLndGrpc, type AuthenticatedLnd } from 'lightning'
import { toLndFault, LndUnreachable } from './rpc-errors.ts'

/** Address and credentials of a node. */
export type LndAddress = {
  /** host:port of the gRPC server. The host is a name, because TLS accepts no IP addresses here. */
  readonly socket: string
  readonly certFile: string
  readonly macaroonFile: string
}

export type LndConnection = {
  readonly clock: Clock
  /** The current client. A new client may replace it after a call that the node did not answer. */
  readonly lnd: () => AuthenticatedLnd
  /** Makes one call. @throws LndRefusal if lnd refuses, another Fault if lnd does not answer in time */
  readonly ask: <T>(call: (lnd: AuthenticatedLnd) => Promise<T>, timeoutMs?: number) => Promise<T>
}

const CALL_TIMEOUT_MS = 30_000
/**
 * Minimum age in ms of a client that a new client may replace. gRPC waits up to two minutes between its connection attempts,
 * while a new client connects at once. But a new client parses all definitions of lnd, which takes a quarter of a second.
 */
const NEW_CLIENT_AFTER_MS = 10_000

/** @throws Fault if a file cannot be read */
export function connectLnd({ socket, certFile, macaroonFile }: LndAddress, clock: Clock): LndConnection {
  const macaroon = readBase64(macaroonFile)
  // The file is read for each client, because lnd replaces an expired certificate.
  const connect = (): AuthenticatedLnd => authenticatedLndGrpc({ cert: readBase64(certFile), macaroon, socket }).lnd
  let client = connect()
  let createdAt = clock.monotonicMs()
  const renew = (unreached: AuthenticatedLnd): void => {
    if (unreached !== client || clock.monotonicMs() - createdAt <= NEW_CLIENT_AFTER_MS) return
    createdAt = clock.monotonicMs()
    client = connect()
  }
  return {
    clock,
    lnd: () => client,
    async ask(call, timeoutMs = CALL_TIMEOUT_MS) {
      const usedClient = client
      let hasAnswered = false
      try {
        return await withTimeout(
          clock,
          timeoutMs,
          call(usedClient).finally(() => (hasAnswered = true)),
        )
      } catch (error) {
        const fault = hasAnswered
          ? toLndFault(error)
          : new LndUnreachable(`lnd did not answer within ${timeoutMs} ms`, { cause: error })
        if (fault instanceof LndUnreachable) renew(usedClient)
        throw fault
      }
    },
  }
}

function readBase64(file: string): string {
  try {
    return readFileSync(file, 'base64')
  } catch (error) {
    throw new Fault(`${file} cannot be read: it is needed to connect to lnd`, { cause: error })
  }
}
