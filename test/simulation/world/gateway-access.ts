import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import type { InProcessGateway, InProcessAnswer } from '@penstock/gateway/in-process-gateway.fixture.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { OpenRefused } from '@penstock/ports/lightning.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'

/** The running gateways. Each call goes to a random gateway. */
export type SimulatedMarket = {
  /** @param died rejects when the gateway's process ends */
  addGateway(process: string, gateway: InProcessGateway, died: Promise<never>): void
  removeGateway(process: string): void
  /** Sends a request to one gateway. @throws Fault if no gateway runs, or if the gateway crashes or does not answer in 20 s */
  call<T>(request: (gateway: InProcessGateway) => Promise<T>): Promise<T>
  graphql<T>(query: string, variables: object, bearer?: string): Promise<T>
}

/** The error of a request that the market refused. */
export class RefusedByMarket extends Error {
  override readonly name = 'RefusedByMarket'
}

/** The error of an action that the present state does not allow, so no request was sent. */
export class NothingToDo extends Error {
  override readonly name = 'NothingToDo'
}

type GraphqlErrorEntry = NonNullable<InProcessAnswer['errors']>[number]

/** The error of an answer that reports an internal error of the gateway, other than a `Fault`. */
class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer'
}

/**
 * Whether an action failed for an expected reason: the market or a node refused it or gave no answer, or the state did not allow
 * it. Other errors show a defect.
 */
export const isExpectedRefusal = (error: unknown): boolean => EXPECTED_ERRORS.some((errorType) => error instanceof errorType)
const EXPECTED_ERRORS = [RefusedByMarket, NothingToDo, Fault, OpenRefused] as const

const ANSWER_TIMEOUT_MS = 20_000

/** @param onUnexpectedError called with each internal error in an answer */
export function createSimulatedMarket(clock: Clock, draws: Prng, onUnexpectedError: (error: unknown) => void): SimulatedMarket {
  const openGateways = new Map<string, { readonly gateway: InProcessGateway; readonly died: Promise<never> }>()
  const call: SimulatedMarket['call'] = async (request) => {
    if (openGateways.size === 0) throw new Fault('no gateway is running')
    const { gateway, died } = draws.pick([...openGateways.values()])
    try {
      const answer = await withTimeout(clock, ANSWER_TIMEOUT_MS, Promise.race([request(gateway), died]))
      const error = findUnexpectedError(answer)
      if (error) onUnexpectedError(error)
      return answer
    } catch (error) {
      if (!isExpectedRefusal(error)) onUnexpectedError(error)
      throw error
    }
  }
  return {
    addGateway(process, gateway, died) {
      died.catch(() => undefined)
      openGateways.set(process, { gateway, died })
    },
    removeGateway: (process) => void openGateways.delete(process),
    call,
    async graphql<T>(query: string, variables: object, bearer?: string) {
      return readData<T>(await call((gateway) => gateway.graphql(query, variables, bearer)))
    },
  }
}

/** Matches the message of an internal error, which begins with its class. A `Fault` is excluded, because a retry may succeed. */
const UNEXPECTED_MESSAGE = /^(?!Fault: )\w+: /

function findUnexpectedError(answer: unknown): UnexpectedAnswer | undefined {
  if (typeof answer !== 'object' || answer === null || !('errors' in answer)) return undefined
  const { errors } = answer as InProcessAnswer // No other answer has `errors`.
  const internalError = errors?.find((error) => isInternalError(error) && UNEXPECTED_MESSAGE.test(error.message))
  return internalError && new UnexpectedAnswer(internalError.message)
}

const isInternalError = ({ extensions }: GraphqlErrorEntry): boolean => extensions['code'] === 'INTERNAL_SERVER_ERROR'

function readData<T>({ data, errors }: InProcessAnswer): T {
  const [error] = errors ?? []
  if (error && isInternalError(error))
    throw UNEXPECTED_MESSAGE.test(error.message) ? new UnexpectedAnswer(error.message) : new Fault(error.message)
  if (error) throw new RefusedByMarket(error.message)
  return data as T // The caller gives the type of the fields in its query.
}

/** Retries a request after each `Fault` until the deadline. @throws the error of the last try */
export async function retryWhileUnavailable<T>(clock: Clock, deadlineMs: number, request: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof Fault) || clock.now() > deadlineMs) throw error
      await clock.sleep(250)
    }
  }
}
