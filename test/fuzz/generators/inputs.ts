import fc from 'fast-check'
import { type GraphQLArgument, type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { createListNode, createObjectNode, type JsonNode, createNode, VALID_VALUE } from './json-node.ts'
import { nearMiss, invalidValue } from './values.ts'

/** Values that exist in the running market, by field name: ids, keys, amounts. */
export type ValuePool = ReadonlyMap<string, readonly string[]>

type InputField = { readonly name: string; readonly type: GraphQLInputType }
/** The input of the generators. `anyValue` is any value of the pool. */
export type GeneratorContext = {
  readonly values: ValuePool
  readonly anyValue: fc.Arbitrary<string>
  /** If true, all generated values are valid. The encoding or the caller may still be wrong. */
  readonly isValid?: true
}

/**
 * Generates arguments of an operation. Most are valid, so that the request reaches code behind the validation. If the pool has
 * no value for a field name, the field gets any text, so that a new field needs no change here.
 */
export function generateArguments(
  args: readonly GraphQLArgument[],
  values: ValuePool,
): fc.Arbitrary<readonly (readonly [string, JsonNode | undefined])[]> {
  const context = createContext(values)
  return fc.oneof(
    { weight: 2, arbitrary: generateFields(args, { ...context, isValid: true }) },
    { weight: 3, arbitrary: generateFields(args, context) },
  )
}

export const createContext = (values: ValuePool): GeneratorContext => ({
  values,
  anyValue: fc.constantFrom(...new Set([...values.values()].flat())),
})

const generateFields = (fields: readonly InputField[], context: GeneratorContext) =>
  fc.tuple(...fields.map((field) => generateOptional(field, context).map((value) => [field.name, value] as const)))

/** Sometimes omits a field. Omits a required field only if invalid input is allowed. */
const generateOptional = (field: InputField, context: GeneratorContext): fc.Arbitrary<JsonNode | undefined> => {
  const isRequired = isNonNullType(field.type)
  if (isRequired && context.isValid) return generateInput(field, context)
  return fc.oneof(
    { weight: isRequired ? 40 : 5, arbitrary: generateInput(field, context) },
    { weight: isRequired ? 1 : 4, arbitrary: fc.constant(undefined) },
  )
}

function generateInput({ name, type }: InputField, context: GeneratorContext): fc.Arbitrary<JsonNode> {
  if (isNonNullType(type)) return generateInput({ name, type: type.ofType }, context)
  const validValue = generateIntended({ name, type }, context)
  const wrongValue = name === 'new_password' ? invalidValue.filter(({ json }) => !mayBePassword(json)) : invalidValue
  return context.isValid ? validValue : fc.oneof({ weight: 9, arbitrary: validValue }, { weight: 1, arbitrary: wrongValue })
}

/** Whether the gateway may accept a text as a new password. A new password would make later log-ins of the caller fail. */
const mayBePassword = (json: string): boolean => json.startsWith('"') && json.length > 12 && json.length < 8 * 1024

/** Inputs that get a wrong password, because the correct password would delete an account that other requests use. */
const PASSWORD_INPUTS: ReadonlySet<string> = new Set(['DeleteAccountInput'])
const WRONG_PASSWORD = 'an unknown password'
const withWrongPassword = (context: GeneratorContext): GeneratorContext => ({
  ...context,
  values: new Map([...context.values, ['password', [WRONG_PASSWORD]]]),
  anyValue: fc.constant(WRONG_PASSWORD),
})

function generateIntended({ name, type }: InputField, context: GeneratorContext): fc.Arbitrary<JsonNode> {
  if (isListType(type)) return fc.array(generateInput({ name, type: type.ofType }, context), { maxLength: 3 }).map(createListNode)
  if (isInputObjectType(type))
    return generateObject(Object.values(type.getFields()), PASSWORD_INPUTS.has(type.name) ? withWrongPassword(context) : context)
  if (isEnumType(type))
    return fc.constantFrom(...type.getValues()).map(({ name: value }) => createNode(VALID_VALUE, value, value))
  return generateScalar(name, String(type), context)
}

// Created once, because fast-check takes long to build the list of possible characters.
const anyText = fc
  .oneof(fc.constantFrom('500', '1000000'), fc.string({ maxLength: 30 }))
  .map((value) => createNode(VALID_VALUE, value))

/** @param scalar the name of a GraphQL scalar; an unknown name gives a text */
export function generateScalar(
  name: string,
  scalar: string,
  { values, anyValue, isValid }: GeneratorContext,
): fc.Arbitrary<JsonNode> {
  const knownValues = values.get(name)
  if (scalar === 'Boolean') return fc.boolean().map((value) => createNode(VALID_VALUE, value))
  if (scalar === 'Int' || scalar === 'Float') {
    const usualValue = fc.constantFrom(...(knownValues ?? ['1', '5', '4320']).map(Number))
    return (isValid ? usualValue : fc.oneof(usualValue, fc.integer())).map((value) => createNode(VALID_VALUE, value))
  }
  if (!knownValues) return anyText
  const validValue = fc.constantFrom(...knownValues)
  if (isValid || name === 'new_password') return validValue.map((value) => createNode(VALID_VALUE, value))
  return fc.oneof(
    { weight: 14, arbitrary: validValue.map((value) => createNode(VALID_VALUE, value)) },
    { weight: 1, arbitrary: validValue.chain(nearMiss) },
    { weight: 1, arbitrary: anyValue.map((value) => createNode('value of another field', value)) },
  )
}

/** Generates a value in one of `oneOf` cases, and otherwise undefined. */
export const sometimes = <T>(oneOf: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: oneOf - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** Generates an object, sometimes with an unknown or a repeated field. */
const generateObject = (fields: readonly InputField[], context: GeneratorContext): fc.Arbitrary<JsonNode> =>
  context.isValid ? generateFields(fields, context).map(createObjectNode) : generateCrowdedObject(fields, context)

const generateCrowdedObject = (fields: readonly InputField[], context: GeneratorContext): fc.Arbitrary<JsonNode> =>
  fc
    .tuple(
      generateFields(fields, context),
      sometimes(15, fc.tuple(fc.constantFrom('nope', '__proto__', 'constructor', 'id', ''), invalidValue)),
      sometimes(25, invalidValue),
    )
    .map(([knownValues, extraField, repeatedValue]) => {
      const [first] = knownValues
      const node = createObjectNode([
        ...knownValues,
        ...(extraField ? [[extraField[0], extraField[1]] as const] : []),
        ...(repeatedValue && first ? [[first[0], repeatedValue] as const] : []),
      ])
      return {
        ...node,
        kinds: [...node.kinds, ...(extraField ? ['unknown field'] : []), ...(repeatedValue ? ['repeated field'] : [])],
      }
    })
