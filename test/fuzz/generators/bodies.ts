import fc from 'fast-check'
import { generateScalar, sometimes, type GeneratorContext } from './inputs.ts'
import { createObjectNode, type JsonNode } from './json-node.ts'
import { invalidValue } from './values.ts'

/** A field of a body. `isLearned`: its name comes from a refusal and not from OpenAPI. `isRare`: most bodies omit the field. */
export type BodyField = {
  readonly name: string
  readonly scalar: string
  readonly isLearned?: true
  readonly isRare?: true
}

type NamedNode = readonly [name: string, value: JsonNode | undefined]

/** The kind under which a body with a repeated field is counted. */
export const REPEATED_FIELD = 'REST: repeated field'

/** Generates a valid body, which reaches code behind the validation, or a body with invalid fields. Both may repeat a field. */
export const generateBody = (fields: readonly BodyField[], context: GeneratorContext): fc.Arbitrary<JsonNode> =>
  fc.oneof(
    { weight: 2, arbitrary: withRepeatedField(fields, { ...context, isValid: true }, generateValidFields(fields, context)) },
    { weight: 3, arbitrary: withRepeatedField(fields, context, generateMixedFields(fields, context)) },
  )

const generateValidFields = (fields: readonly BodyField[], context: GeneratorContext): fc.Arbitrary<readonly NamedNode[]> =>
  fc.tuple(
    ...fields.map((field) => {
      const value = generateValue(field, field.scalar, { ...context, isValid: true })
      return (field.isRare ? sometimes(20, value) : value).map((one) => [field.name, one] as const)
    }),
  )

/** Generates valid and invalid fields, sometimes with an unknown field. */
const generateMixedFields = (fields: readonly BodyField[], context: GeneratorContext): fc.Arbitrary<readonly NamedNode[]> =>
  fc
    .tuple(
      fc.tuple(...fields.map((field) => generateMixedValue(field, context).map((value) => [field.name, value] as const))),
      sometimes(10, fc.tuple(fc.constantFrom('nope', '__proto__', 'constructor', ''), invalidValue)),
    )
    .map(([fieldNodes, extraField]) => (extraField ? [...fieldNodes, extraField] : fieldNodes))

const SCALARS = ['String', 'Int', 'Boolean']

/** Generates a valid or invalid value. A learned field also gets other types, because a refusal may not give its type. */
function generateMixedValue(field: BodyField, context: GeneratorContext): fc.Arbitrary<JsonNode | undefined> {
  const { scalar, isLearned, isRare } = field
  const otherScalars = SCALARS.filter((type) => isLearned && type !== scalar)
  return fc.oneof(
    { weight: 14, arbitrary: generateValue(field, scalar, context) },
    ...otherScalars.map((type) => ({ weight: 1, arbitrary: generateValue(field, type, context) })),
    { weight: 2, arbitrary: invalidValue },
    { weight: isRare ? 300 : 2, arbitrary: fc.constant(undefined) },
  )
}

const generateValue = ({ name, isLearned }: BodyField, type: string, context: GeneratorContext): fc.Arbitrary<JsonNode> =>
  generateScalar(name, type, context).map((value) =>
    isLearned ? { ...value, kinds: [...value.kinds, `learned field: ${type}`] } : value,
  )

/** Sometimes repeats a field, before or after all others. Of two fields with one name, a JSON parser keeps the first or last. */
function withRepeatedField(
  fields: readonly BodyField[],
  context: GeneratorContext,
  generatedFields: fc.Arbitrary<readonly NamedNode[]>,
): fc.Arbitrary<JsonNode> {
  if (fields.length === 0) return generatedFields.map(createObjectNode)
  const copies = fc.constantFrom(...fields).chain(({ name, scalar }) =>
    // In a valid body, the repeated field is valid too.
    (context.isValid ? generateScalar(name, scalar, context) : fc.oneof(generateScalar(name, scalar, context), invalidValue)).map(
      (value) => [name, value] as const,
    ),
  )
  return fc.tuple(generatedFields, sometimes(8, copies), fc.boolean()).map(([fieldNodes, copy, isFirst]) => {
    const isPresent = fieldNodes.some(([name, value]) => name === copy?.[0] && value !== undefined)
    if (!copy || !isPresent) return createObjectNode(fieldNodes)
    const node = createObjectNode(isFirst ? [copy, ...fieldNodes] : [...fieldNodes, copy])
    return { ...node, kinds: [...node.kinds, REPEATED_FIELD] }
  })
}
