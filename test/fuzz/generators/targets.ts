import type fc from 'fast-check'
import { generateDocument } from './documents.ts'
import { generateEncoding } from './encodings.ts'
import { generateArguments, type ValuePool } from './inputs.ts'
import type { Operation } from './schema.ts'
import type { FuzzCaller, FuzzRequest } from '../request.ts'
import { mayUseTarget } from '../checks/authorization.ts'

/** A target of requests: a GraphQL operation, or an HTTP method of a path. */
export type FuzzTarget = {
  readonly name: string
  /** Callers whose credentials this kind of API knows. */
  readonly callers: readonly FuzzCaller[]
  readonly generateRequests: (caller: FuzzCaller) => fc.Arbitrary<FuzzRequest>
  /** The GraphQL operation, whose path locates results in an answer; undefined for all other targets. */
  readonly operation?: Operation
}

const CALLER_KINDS: readonly FuzzCaller[] = ['stranger', 'session', 'order', 'dashboard', 'api', 'seller', 'operator']

export const createGraphqlTarget = (operation: Operation, values: ValuePool): FuzzTarget => {
  const name = `${operation.kind} ${operation.path.join('.')}`
  return {
    name,
    operation,
    // Callers that may use the operation are listed twice, because only they can try to reach objects of other accounts.
    callers: [...CALLER_KINDS, ...CALLER_KINDS.filter((caller) => mayUseTarget(name, caller))],
    generateRequests: (caller) =>
      generateDocument(operation, generateArguments(operation.field.args, values)).chain(({ text, kinds }) =>
        generateEncoding(text).map((encoded) => ({
          ...encoded,
          target: name,
          caller,
          method: 'POST',
          path: '/graphql',
          kinds: [...kinds, ...encoded.kinds],
        })),
      ),
  }
}
