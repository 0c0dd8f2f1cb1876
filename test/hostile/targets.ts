import type fc from 'fast-check'
import { bodyOf } from './documents.ts'
import { sending } from './headers.ts'
import { argumentsOf, type Pool } from './inputs.ts'
import type { Operation } from './schema.ts'
import type { Caller, Shot } from './shot.ts'
import { mayDo } from './trespass.ts'

/** Something that is shot at: an operation, or a method of an address. */
export type Target = {
  readonly name: string
  /** Of credentials that this kind of interface knows. */
  readonly callers: readonly Caller[]
  readonly shots: (caller: Caller) => fc.Arbitrary<Shot>
  /** Where operations stand in the data of an answer; undefined for everything but GraphQL. */
  readonly operation?: Operation
}

const KINDS: readonly Caller[] = ['stranger', 'session', 'order', 'dashboard', 'api', 'seller', 'operator']

export const graphqlTarget = (operation: Operation, pool: Pool): Target => {
  const name = `${operation.kind} ${operation.path.join('.')}`
  return {
    name,
    operation,
    // Twice as often those to whom it is open: it takes one of them to reach for what is somebody else's.
    callers: [...KINDS, ...KINDS.filter((caller) => mayDo(name, caller))],
    shots: (caller) =>
      bodyOf(operation, argumentsOf(operation.field.args, pool)).chain(({ text, kinds }) =>
        sending(text).map((sent) => ({
          ...sent,
          target: name,
          caller,
          method: 'POST',
          path: '/graphql',
          kinds: [...kinds, ...sent.kinds],
        })),
      ),
  }
}
