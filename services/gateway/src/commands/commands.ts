import type { Config } from '@penstock/config/config.ts'
import type { Clock, Ids } from '@penstock/ports/clock.ts'
import { toWallClock } from '@penstock/kernel/deadline.ts'
import type { Views } from '@penstock/ports/views.ts'
import type { ServiceContext } from '@penstock/runtime/service.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { invalidInput, outcomeUnknown } from '../errors.ts'
import { type CommandAnswer, createAnswerLookup } from './answer-lookup.ts'
import { getAnswerDeadline } from './answer-deadline.ts'
import type { ReadModelWaiters } from './read-model-waiters.ts'

export type CommandOptions = {
  /** The latest time for the answer, by the monotonic clock. */
  readonly until: number
  readonly correlation?: string
  /** The receiver carries the command out even after `until`. Set it only for a command that is safe late and twice. */
  readonly isValidLate?: true
}

export type Commands = {
  /** Sends a command and waits until the read models contain its result. */
  readonly sendAndWait: (ask: AddressedCommand, options: CommandOptions) => Promise<CommandAnswer>
  /** Finds the recorded answer to a command; undefined before it is recorded. */
  readonly findAnswer: (commandId: string) => Promise<CommandAnswer | undefined>
}

export type CommandPorts = {
  readonly views: Pick<Views, 'db'>
  readonly clock: Clock
  readonly ids: Ids
  readonly waiters: ReadModelWaiters
  readonly send: ServiceContext<object>['send']
}

export function openCommands({ views, clock, ids, waiters, send }: CommandPorts): Commands {
  const findAnswer = createAnswerLookup(views)

  return {
    findAnswer,
    async sendAndWait(ask, { until, correlation = ask.id, isValidLate }) {
      const commandId = ids.uuid()
      const sent = send(ask, { commandId, correlation, ...(!isValidLate && { notAfter: toWallClock(clock, until) }) })
      const answer = await waiters.wait(() => findAnswer(commandId), [commandId], until, { sent })
      return answer ?? { outcome: 'unanswered' }
    },
  }
}

/** The answer to every command while the market is read-only, after a restore. */
export const READ_ONLY_ANSWER = {
  outcome: 'refused',
  code: 'READ_ONLY',
  message: 'The market is being restored and takes no orders or changes now. Try again later.',
} as const

/** Finds answers from before a restore, and refuses every new command at once. */
export const createReadOnlyCommands = ({ findAnswer }: Commands): Commands => ({
  findAnswer,
  sendAndWait: () => Promise.resolve(READ_ONLY_ANSWER),
})

type Sender = {
  readonly commands: Commands
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly config: Pick<Config, 'buyAnswerSeconds'>
}

/** Sends a command and waits for its result. @throws an error if the command is refused, or if no answer arrives in time */
export async function sendCommand(
  gateway: Sender,
  command: AddressedCommand,
  { until = getAnswerDeadline(gateway), ...options }: Partial<CommandOptions> = {},
): Promise<void> {
  assertAccepted(await gateway.commands.sendAndWait(command, { until, ...options }))
}

const NO_ANSWER_MESSAGE = 'The service did not answer in time. Check whether the request took effect before you try again.'

/** @throws an error if the command was refused, or if no answer arrived in time */
export function assertAccepted(answer: CommandAnswer): void {
  if (answer.outcome === 'refused') throw invalidInput(answer.message, { reason: answer.code })
  if (answer.outcome === 'unanswered') throw outcomeUnknown(NO_ANSWER_MESSAGE)
}

/** @throws an error if the wait found no value in time */
export function requireInTime<T>(found: T | undefined): T {
  if (found === undefined) throw outcomeUnknown(NO_ANSWER_MESSAGE)
  return found
}
