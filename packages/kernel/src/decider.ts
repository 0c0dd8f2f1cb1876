import type { Command, Fact } from './message.ts'

/** The reason why a command was refused: a code from a closed union, and a sentence for the caller. */
export type Refusal<Code extends string = string> = { readonly code: Code; readonly message: string }

/** Facts to append, or a refusal. An empty list means that the command was valid and changes nothing. */
export type Decision<E, R> = { readonly facts: readonly E[] } | { readonly refused: R }

export type Decider<S, C extends Command, E extends Fact, R extends Refusal = Refusal> = {
  readonly initial: S
  readonly evolve: (state: S, fact: E) => S
  readonly decide: (state: S, command: C) => Decision<E, R>
}

export const fold = <S, E>({ initial, evolve }: { initial: S; evolve: (state: S, fact: E) => S }, facts: readonly E[]): S =>
  facts.reduce(evolve, initial)

/** @returns a decision that refuses with this code and sentence. */
export const refuse = <Code extends string>(code: Code, message: string): { readonly refused: Refusal<Code> } => ({
  refused: { code, message },
})

/** @returns a decision that appends these facts; no facts if the command changes nothing. */
export const accept = <E>(...facts: readonly E[]): { readonly facts: readonly E[] } => ({ facts })
