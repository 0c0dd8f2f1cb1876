import type { Random } from '@penstock/adapters/seeded/random.ts'
import type { Door, DoorAnswer } from '@penstock/gateway/door.contract.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { OpenRefused } from '@penstock/ports/lightning.ts'
import { within } from '@penstock/ports/within.ts'

/** The gateways that stand now, as the world outside reaches them: any of them, and none for long. */
export type Market = {
  /** A gateway opened; `died` rejects when its process is gone. */
  opened(process: string, door: Door, died: Promise<never>): void
  gone(process: string): void
  /** Asks one gateway once. @throws Fault where none stands, it dies meanwhile, or says nothing for long */
  call<T>(ask: (door: Door) => Promise<T>): Promise<T>
  graphql<T>(query: string, variables: object, bearer?: string): Promise<T>
}

/** Somebody was told no. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** As things are there is nothing that could be done, so nobody was asked. */
export class Idle extends Error {
  override readonly name = 'Idle'
}

type Said = NonNullable<DoorAnswer['errors']>[number]

/** An error of ours where a yes, a no or a fault was due. */
class Blunder extends Error {
  override readonly name = 'Blunder'
}

/**
 * A wish that was not granted, as whoever wished it takes it: refused by the market or by one's own node, or never heard.
 * Anything else is nobody's to swallow.
 */
export const isNo = (error: unknown): boolean => NOES.some((no) => error instanceof no)
const NOES = [Refused, Idle, Fault, OpenRefused] as const

const PATIENCE_MS = 20_000

/** @param blundered is told of each answer that is none, whoever asked */
export function openMarket(clock: Clock, draws: Random, blundered: (error: unknown) => void): Market {
  const open = new Map<string, { readonly door: Door; readonly died: Promise<never> }>()
  const call: Market['call'] = async (ask) => {
    if (open.size === 0) throw new Fault('no gateway stands')
    const { door, died } = draws.pick([...open.values()])
    try {
      const answer = await within(clock, PATIENCE_MS, Promise.race([ask(door), died]))
      const error = blunderIn(answer)
      if (error) blundered(error)
      return answer
    } catch (error) {
      if (!isNo(error)) blundered(error)
      throw error
    }
  }
  return {
    opened(process, door, died) {
      died.catch(() => undefined)
      open.set(process, { door, died })
    },
    gone: (process) => void open.delete(process),
    call,
    async graphql<T>(query: string, variables: object, bearer?: string) {
      return dataOf<T>(await call((door) => door.graphql(query, variables, bearer)))
    },
  }
}

/** What a gateway did not foresee leaves it with its name before it. A fault is one that whoever asks again may not meet. */
const UNFORESEEN = /^(?!Fault: )\w+: /

function blunderIn(answer: unknown): Blunder | undefined {
  if (typeof answer !== 'object' || answer === null || !('errors' in answer)) return undefined
  const { errors } = answer as DoorAnswer // nothing else that is asked has errors
  const own = errors?.find((error) => isOurs(error) && UNFORESEEN.test(error.message))
  return own && new Blunder(own.message)
}

const isOurs = ({ extensions }: Said): boolean => extensions['code'] === 'INTERNAL_SERVER_ERROR'

function dataOf<T>({ data, errors }: DoorAnswer): T {
  const [error] = errors ?? []
  if (error && isOurs(error)) throw UNFORESEEN.test(error.message) ? new Blunder(error.message) : new Fault(error.message)
  if (error) throw new Refused(error.message)
  return data as T // the caller names the fields that it asked for
}

/** Asks until there is an answer or the time is over. */
export async function patiently<T>(clock: Clock, untilMs: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Fault) || clock.now() > untilMs) throw error
      await clock.sleep(250)
    }
  }
}
