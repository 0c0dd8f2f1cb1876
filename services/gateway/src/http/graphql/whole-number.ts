import { GraphQLError, GraphQLScalarType, Kind } from 'graphql'

/**
 * Clients send amounts and block counts as strings or numbers. A resolver always gets a string, and the field's parser checks
 * it. A number above 2^53 - 1 is refused, because JSON parsing may have rounded it.
 */
export const wholeNumberScalar = new GraphQLScalarType<string, never>({
  name: 'WholeNumber',
  parseValue: (value) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number') return toExactText(value)
    throw createRefusal('It must be a whole number, in digits, with or without quotes.')
  },
  parseLiteral: (node) => {
    if (node.kind === Kind.STRING) return node.value
    if (node.kind === Kind.INT) return toExactText(Number(node.value))
    throw createRefusal('It must be a whole number, in digits, with or without quotes.')
  },
  serialize: () => {
    throw new Error('WholeNumber is an input type only')
  },
})

function toExactText(value: number): string {
  if (Number.isSafeInteger(value)) return `${value}`
  throw createRefusal(`A number must be whole, and at most ${Number.MAX_SAFE_INTEGER}; put quotes around a larger one.`)
}

const createRefusal = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })
