import { getNamedType, type GraphQLObjectType, isObjectType } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { schema } from './http/graphql/schema.ts'
import { type AuthenticatedCaller, credentialKinds } from './access.ts'
import { useCases } from './areas.ts'

/** Lists the paths of all fields except namespaces and their ids. */
const listPaths = (type: GraphQLObjectType, prefix = ''): readonly string[] =>
  Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type)
    const path = `${prefix}${field.name}`
    if (isObjectType(inner) && /(Queries|Mutations)$/.test(inner.name)) return listPaths(inner, `${path}.`)
    return field.name === 'id' ? [] : [path]
  })

test.each(['Query', 'Mutation'] as const)('each field of %s has exactly one use case, and each use case has a field', (root) => {
  const type = schema.getType(root)
  assert.ok(isObjectType(type))
  const paths = useCases.filter((useCase) => useCase.root === root).map(({ path }) => path)
  assert.deepEqual(paths.toSorted(), listPaths(type).toSorted())
})

test('each use case admits exactly the callers that its access names', () => {
  for (const { path, access } of useCases) {
    const isAdmitted = (caller: AuthenticatedCaller | null): boolean => {
      try {
        return access.check(caller) === caller
      } catch {
        return false
      }
    }
    const callers = credentialKinds.map((kind) => ({ kind, accountId: '', orderId: null, credential: '' }))
    const admitted = callers.filter(isAdmitted).map(({ kind }) => kind)
    assert.deepEqual([path, isAdmitted(null), admitted], [path, access.isPublic, access.kinds])
  }
})
