import type { Command } from './message.ts'

/** A command before it has an id and a time. */
export type Wanted<C extends Command> =
  C extends Command<infer Type, infer Data> ? { readonly type: Type; readonly data: Data } : never

/** Ask an aggregate, own or foreign, to decide something. */
export type CommandStep = {
  readonly kind: 'command'
  readonly step: string
  readonly attempt: number
  readonly category: string
  readonly id: string
  readonly command: Wanted<Command>
}

/**
 * Touch the outside world under a natural key. The intent is already a fact, so the effect finds all that it needs in
 * the state; its outcome is a command for the stream itself.
 */
export type EffectStep<Effects extends string = string> = {
  readonly kind: 'effect'
  readonly step: string
  readonly attempt: number
  readonly effect: Effects
}

/** Come back when this instant (milliseconds since 1970) or block height is reached, with this command for the stream itself. */
export type DeadlineStep<C extends Command = Command> = {
  readonly kind: 'deadline'
  readonly step: string
  readonly due: { readonly at: number } | { readonly height: number }
  readonly command: Wanted<C>
}

/**
 * What a state asks for next. A step's name is unique within its stream and, with `attempt`, gives the command its id:
 * the same question after a crash is the same command, and the receiver drops what it has handled.
 */
export type Next<C extends Command = Command, Effects extends string = string> =
  | CommandStep
  | EffectStep<Effects>
  | DeadlineStep<C>

/** A process reads the state of its stream and says what should be asked for next; it has no memory of its own. */
export type Process<S, C extends Command = Command, Effects extends string = string> = (
  state: S,
  id: string,
) => readonly Next<C, Effects>[]

/** A step that asks another aggregate; `C` is the union of what that aggregate understands. */
export const tell = <C extends Command>(
  category: string,
  id: string,
  step: string,
  command: Wanted<C>,
  attempt = 1,
): CommandStep => ({
  kind: 'command',
  step,
  attempt,
  category,
  id,
  command: command, // a member of the union is a wanted command; the compiler cannot see it through the conditional type
})

export const effect = <Effects extends string>(name: Effects, attempt = 1): EffectStep<Effects> => ({
  kind: 'effect',
  step: name,
  attempt,
  effect: name,
})

export const deadline = <C extends Command>(step: string, due: DeadlineStep['due'], command: Wanted<C>): DeadlineStep<C> => ({
  kind: 'deadline',
  step,
  due,
  command,
})
