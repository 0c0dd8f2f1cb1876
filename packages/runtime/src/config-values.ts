import { z } from 'zod'

/** One variable: what it sets, in which unit, and what holds when nothing is said. The guide's table is made from these. */
type Variable<Schema extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly means: string
  readonly schema: Schema
  readonly standard: string
}

export const variable = <Schema extends z.ZodType>(
  name: string,
  means: string,
  schema: Schema,
  standard: string,
): Variable<Schema> => ({
  name,
  means,
  schema,
  standard,
})

const number = (pattern: RegExp, kind: string, min: number, max: number) => {
  const wanted = `${kind} from ${min} to ${max}`
  return z
    .string()
    .regex(pattern, wanted)
    .transform(Number)
    .refine((value) => value >= min && value <= max, wanted)
}
export const whole = (min: number, max: number) => number(/^\d{1,12}$/, 'a whole number', min, max)
export const decimal = (min: number, max: number) => number(/^\d{1,9}(\.\d{1,9})?$/, 'a number', min, max)
export const oneOf = <const T extends readonly [string, ...string[]]>(...values: T) =>
  z.enum(values, { error: `one of ${values.join(', ')}` })
/** One or more of the values, each once. */
export const listOf = <const T extends readonly [string, ...string[]]>(...values: T) => {
  const wanted = `some of ${values.join(', ')}, by comma`
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values, { error: wanted })))
    .refine((list) => new Set(list).size === list.length, wanted)
}
export const flag = oneOf('0', '1').transform((value) => value === '1')
export const sat = z
  .string()
  .regex(/^\d{1,16}$/, 'a whole number of satoshis')
  .transform(BigInt)
export const text = z.string().min(1, 'not empty')
export const urlOf = (wanted: string, schemes: RegExp) =>
  z.string().refine((value) => value === '' || schemes.test(value), wanted)
