import { makeExecutableSchema } from '@graphql-tools/schema'
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { readSdl } from '../../area.ts'
import { areas, useCases } from '../../areas.ts'
import type { UseCase } from '../../use-case.ts'
import type { GraphqlContext } from './context.ts'
import { wholeNumberScalar } from './whole-number.ts'

/** Builds the fields below a path. A field is the resolver of a use case, or an object with further fields (a namespace). */
const buildFields = (cases: readonly UseCase[], prefix = ''): readonly (readonly [string, object])[] =>
  Object.entries(Object.groupBy(cases, ({ path }) => path.slice(prefix.length).split('.', 1).join(''))).map(
    ([name, group = []]) => {
      const path = `${prefix}${name}`
      const useCase = group.find((one) => one.path === path)
      return [name, useCase?.resolve ?? { id: path, ...Object.fromEntries(buildFields(group, `${path}.`)) }]
    },
  )

/** A namespace resolves without waiting, so that its use cases start in the order of the document. */
const buildRootResolvers = (root: UseCase['root']) =>
  Object.fromEntries(buildFields(useCases.filter((one) => one.root === root)).map(([name, namespace]) => [name, () => namespace]))

export const schema: GraphQLSchema = makeExecutableSchema<GraphqlContext>({
  typeDefs: [readSdl('base.graphql', import.meta.url), ...areas.flatMap(({ sdl = [] }) => sdl)],
  resolvers: {
    WholeNumber: wholeNumberScalar,
    Query: buildRootResolvers('Query'),
    Mutation: buildRootResolvers('Mutation'),
  },
  resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
})

/** The whole schema as text, always in the same order; committed as docs/api/schema.graphql. */
export const printSchemaText = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
