import fc from 'fast-check'
import { type GraphQLArgument, type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql'
import { list, object, type Piece, piece, RIGHT } from './piece.ts'
import { nearly, rubbish } from './values.ts'

/** What the running market understands, by the name of the field: ids, keys, amounts that exist there. */
export type Pool = ReadonlyMap<string, readonly string[]>

type Field = { readonly name: string; readonly type: GraphQLInputType }
/** `everything`: any value of the pool. */
export type Shape = {
  readonly pool: Pool
  readonly everything: fc.Arbitrary<string>
  /** Nothing is wrong in what is given: then it is how it is sent, and by whom. */
  readonly calm?: true
}

/**
 * What an operation is given: mostly right, so that it gets far, with something wrong among it. A name that the pool does
 * not know gets any text, so a new field needs no change here.
 */
export function argumentsOf(
  args: readonly GraphQLArgument[],
  pool: Pool,
): fc.Arbitrary<readonly (readonly [string, Piece | undefined])[]> {
  const shape = shapeOf(pool)
  return fc.oneof(
    { weight: 2, arbitrary: fieldsOf(args, { ...shape, calm: true }) },
    { weight: 3, arbitrary: fieldsOf(args, shape) },
  )
}

export const shapeOf = (pool: Pool): Shape => ({ pool, everything: fc.constantFrom(...new Set([...pool.values()].flat())) })

const fieldsOf = (fields: readonly Field[], shape: Shape) =>
  fc.tuple(...fields.map((field) => optional(field, shape).map((value) => [field.name, value] as const)))

/** Now and then it is missing, whether it may be or not. */
const optional = (field: Field, shape: Shape): fc.Arbitrary<Piece | undefined> => {
  const isNeeded = isNonNullType(field.type)
  if (isNeeded && shape.calm) return valueOf(field, shape)
  return fc.oneof(
    { weight: isNeeded ? 40 : 5, arbitrary: valueOf(field, shape) },
    { weight: isNeeded ? 1 : 4, arbitrary: fc.constant(undefined) },
  )
}

function valueOf({ name, type }: Field, shape: Shape): fc.Arbitrary<Piece> {
  if (isNonNullType(type)) return valueOf({ name, type: type.ofType }, shape)
  const right = meant({ name, type }, shape)
  return shape.calm ? right : fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: rubbish })
}

/** With the right password the callers of all other shots would be gone. */
const KEEPS: ReadonlySet<string> = new Set(['DeleteAccountInput'])
const WRONG = 'a password of nobody'
const wrongPassword = (shape: Shape): Shape => ({
  ...shape,
  pool: new Map([...shape.pool, ['password', [WRONG]]]),
  everything: fc.constant(WRONG),
})

function meant({ name, type }: Field, shape: Shape): fc.Arbitrary<Piece> {
  if (isListType(type)) return fc.array(valueOf({ name, type: type.ofType }, shape), { maxLength: 3 }).map(list)
  if (isInputObjectType(type))
    return inputObject(Object.values(type.getFields()), KEEPS.has(type.name) ? wrongPassword(shape) : shape)
  if (isEnumType(type)) return fc.constantFrom(...type.getValues()).map(({ name: value }) => piece(RIGHT, value, value))
  return scalarOf(name, String(type), shape)
}

// Made once: what a text may consist of takes long to list.
const anyText = fc.oneof(fc.constantFrom('500', '1000000'), fc.string({ maxLength: 30 })).map((value) => piece(RIGHT, value))

/** @param scalar as GraphQL calls it; other names stand for texts */
export function scalarOf(name: string, scalar: string, { pool, everything, calm }: Shape): fc.Arbitrary<Piece> {
  const known = pool.get(name)
  if (scalar === 'Boolean') return fc.boolean().map((value) => piece(RIGHT, value))
  if (scalar === 'Int' || scalar === 'Float') {
    const usual = fc.constantFrom(...(known ?? ['1', '5', '4320']).map(Number))
    return (calm ? usual : fc.oneof(usual, fc.integer())).map((value) => piece(RIGHT, value))
  }
  if (!known) return anyText
  const right = fc.constantFrom(...known)
  if (calm || name === 'new_password') return right.map((value) => piece(RIGHT, value))
  return fc.oneof(
    { weight: 14, arbitrary: right.map((value) => piece(RIGHT, value)) },
    { weight: 1, arbitrary: right.chain(nearly) },
    { weight: 1, arbitrary: everything.map((value) => piece('value of another field', value)) },
  )
}

/** Something in one of so many. */
export const seldom = <T>(oneOf: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: oneOf - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** With a field that nobody knows now and then, or one that comes twice. */
const inputObject = (fields: readonly Field[], shape: Shape): fc.Arbitrary<Piece> =>
  shape.calm ? fieldsOf(fields, shape).map(object) : crowded(fields, shape)

const crowded = (fields: readonly Field[], shape: Shape): fc.Arbitrary<Piece> =>
  fc
    .tuple(
      fieldsOf(fields, shape),
      seldom(15, fc.tuple(fc.constantFrom('nope', '__proto__', 'constructor', 'id', ''), rubbish)),
      seldom(25, rubbish),
    )
    .map(([known, more, twice]) => {
      const [first] = known
      const made = object([
        ...known,
        ...(more ? [[more[0], more[1]] as const] : []),
        ...(twice && first ? [[first[0], twice] as const] : []),
      ])
      return {
        ...made,
        kinds: [...made.kinds, ...(more ? ['unknown field'] : []), ...(twice ? ['repeated field'] : [])],
      }
    })
