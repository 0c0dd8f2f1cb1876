import type { Command } from './message.ts'

/** A command before it has an id and a time. */
export type CommandBody<C extends Command> =
  C extends Command<infer Type, infer Data> ? { readonly type: Type; readonly data: Data } : never

/** Streams of one category, and the union of the commands that they accept. Each contract defines one target. */
export type CommandTarget = { readonly category: string; readonly command: Command }

/** A command for a stream. `id` is the stream's id without the category. */
export type AddressedCommand = {
  readonly category: string
  readonly id: string
  readonly command: CommandBody<Command>
}

/** Addresses a command to a stream of this or another service. */
export const command = <Target extends CommandTarget>(
  category: Target['category'],
  id: string,
  body: CommandBody<Target['command']>,
): AddressedCommand => ({
  category,
  id,
  command: body, // Every member of the union fits, which the compiler cannot see through the conditional type.
})

/** Sends a command to another stream. */
export type CommandStep = AddressedCommand & {
  readonly kind: 'command'
  readonly step: string
  readonly attempt: number
  /** The bus alone delivers the command, so its sender waits for no acknowledgement. */
  readonly isSentOnce?: true
  /** Milliseconds since 1970. The receiver drops the command after this instant, and the sender no longer sends it. */
  readonly notAfter?: number
}

/**
 * Calls the outside world under a natural key. The intent is already a fact, so the state contains the effect's input.
 * The outcome arrives as a command for the stream itself.
 */
export type EffectStep<Effects extends string = string> = {
  readonly kind: 'effect'
  readonly step: string
  readonly attempt: number
  readonly effect: Effects
  /** The host, node or endpoint that the effect calls. Calls in one lane that never end do not delay the other lanes. */
  readonly lane?: string
}

/** Sends this command to the stream itself when the instant (milliseconds since 1970) or the block height is reached. */
export type DeadlineStep<C extends Command = Command> = {
  readonly kind: 'deadline'
  readonly step: string
  readonly due: { readonly at: number } | { readonly height: number }
  readonly command: CommandBody<C>
}

/**
 * A step that follows from a state. Its name is unique in the stream and, with `attempt`, determines the command's id.
 * After a crash the same step gives the same command, and a receiver that has handled this command drops it.
 */
export type ProcessStep<C extends Command = Command, Effects extends string = string> =
  | CommandStep
  | EffectStep<Effects>
  | DeadlineStep<C>

/** A process derives the next steps from the state of its stream; it has no memory of its own. */
export type Process<S, C extends Command = Command, Effects extends string = string> = (
  state: S,
  id: string,
) => readonly ProcessStep<C, Effects>[]

export const commandStep = (step: string, { category, id, command: body }: AddressedCommand, attempt = 1): CommandStep => ({
  kind: 'command',
  step,
  attempt,
  category,
  id,
  command: body,
})

/**
 * Limits the time of a command. A dropped command leaves no fact, so the stream must need none: another command or a deadline
 * ends it.
 */
export const sentUntil = (step: CommandStep, notAfter: number | undefined): CommandStep =>
  notAfter === undefined ? step : { ...step, notAfter }

/**
 * A command that is sent until the bus has stored it, and not repeated later. It is lost if the bus loses its messages, so it
 * must not be about a paid order.
 */
export const sendOnceStep = (step: string, addressed: AddressedCommand): CommandStep => ({
  ...commandStep(step, addressed),
  isSentOnce: true,
})

export const effect = <Effects extends string>(name: Effects, attempt = 1, lane?: string): EffectStep<Effects> => ({
  kind: 'effect',
  step: name,
  attempt,
  effect: name,
  ...(lane !== undefined && { lane }),
})

export const deadline = <C extends Command>(
  step: string,
  due: DeadlineStep['due'],
  command: CommandBody<C>,
): DeadlineStep<C> => ({
  kind: 'deadline',
  step,
  due,
  command,
})
