import fc from 'fast-check'
import { scalarOf, seldom, type Shape } from './inputs.ts'
import { object, type Piece } from './piece.ts'
import { rubbish } from './values.ts'

/** A field of a body: what a document says that it takes, or else what a refusal says. `isSeldom`: a body is mostly without it. */
export type BodyField = {
  readonly name: string
  readonly scalar: string
  readonly isLearned?: true
  readonly isSeldom?: true
}

type Named = readonly [name: string, value: Piece | undefined]

/** How a body with a known field twice is counted. */
export const REPEATED = 'REST: repeated field'

/** Right in every field, so that it gets far, or with something wrong among it; and in either a field that comes twice. */
export const bodyWith = (fields: readonly BodyField[], shape: Shape): fc.Arbitrary<Piece> =>
  fc.oneof(
    { weight: 2, arbitrary: repeated(fields, { ...shape, calm: true }, calm(fields, shape)) },
    { weight: 3, arbitrary: repeated(fields, shape, crowded(fields, shape)) },
  )

const calm = (fields: readonly BodyField[], shape: Shape): fc.Arbitrary<readonly Named[]> =>
  fc.tuple(
    ...fields.map((field) => {
      const value = valueAs(field, field.scalar, { ...shape, calm: true })
      return (field.isSeldom ? seldom(20, value) : value).map((one) => [field.name, one] as const)
    }),
  )

/** With a field that nobody knows now and then. */
const crowded = (fields: readonly BodyField[], shape: Shape): fc.Arbitrary<readonly Named[]> =>
  fc
    .tuple(
      fc.tuple(...fields.map((field) => mixed(field, shape).map((value) => [field.name, value] as const))),
      seldom(10, fc.tuple(fc.constantFrom('nope', '__proto__', 'constructor', ''), rubbish)),
    )
    .map(([known, more]) => (more ? [...known, more] : known))

const SCALARS = ['String', 'Int', 'Boolean']

/** Where only a refusal told what a field takes, it gets texts, numbers and booleans alike. */
function mixed(field: BodyField, shape: Shape): fc.Arbitrary<Piece | undefined> {
  const { scalar, isLearned, isSeldom } = field
  const others = SCALARS.filter((type) => isLearned && type !== scalar)
  return fc.oneof(
    { weight: 14, arbitrary: valueAs(field, scalar, shape) },
    ...others.map((type) => ({ weight: 1, arbitrary: valueAs(field, type, shape) })),
    { weight: 2, arbitrary: rubbish },
    { weight: isSeldom ? 300 : 2, arbitrary: fc.constant(undefined) },
  )
}

const valueAs = ({ name, isLearned }: BodyField, type: string, shape: Shape): fc.Arbitrary<Piece> =>
  scalarOf(name, type, shape).map((value) =>
    isLearned ? { ...value, kinds: [...value.kinds, `learned field: ${type}`] } : value,
  )

/** Now and then a field that is there comes once more, before all others or behind them: readers of JSON take either. */
function repeated(fields: readonly BodyField[], shape: Shape, named: fc.Arbitrary<readonly Named[]>): fc.Arbitrary<Piece> {
  if (fields.length === 0) return named.map(object)
  const again = fc.constantFrom(...fields).chain(({ name, scalar }) =>
    // In a body that is right the copy is right too.
    (shape.calm ? scalarOf(name, scalar, shape) : fc.oneof(scalarOf(name, scalar, shape), rubbish)).map(
      (value) => [name, value] as const,
    ),
  )
  return fc.tuple(named, seldom(8, again), fc.boolean()).map(([known, copy, isFirst]) => {
    const isThere = known.some(([name, value]) => name === copy?.[0] && value !== undefined)
    if (!copy || !isThere) return object(known)
    const made = object(isFirst ? [copy, ...known] : [...known, copy])
    return { ...made, kinds: [...made.kinds, REPEATED] }
  })
}
