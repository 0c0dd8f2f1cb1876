import { z } from 'zod'

/** An environment variable with its default value. `docs/configuration.md` is generated from these variables. */
type ConfigVariable<Schema extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly description: string
  readonly schema: Schema
  readonly defaultValue: string
}

export const defineVariable = <Schema extends z.ZodType>(
  name: string,
  description: string,
  schema: Schema,
  defaultValue: string,
): ConfigVariable<Schema> => ({
  name,
  description,
  schema,
  defaultValue,
})

const numberIn = (pattern: RegExp, kind: string, min: number, max: number) => {
  const expected = `${kind} from ${min} to ${max}`
  return z
    .string()
    .regex(pattern, expected)
    .transform(Number)
    .refine((value) => value >= min && value <= max, expected)
}
export const wholeNumberIn = (min: number, max: number) => numberIn(/^\d{1,12}$/, 'a whole number', min, max)
export const decimalIn = (min: number, max: number) => numberIn(/^\d{1,9}(\.\d{1,9})?$/, 'a number', min, max)
export const oneOf = <const T extends readonly [string, ...string[]]>(...values: T) =>
  z.enum(values, { error: `one of ${values.join(', ')}` })
/** One or more of the values, separated by commas, each at most once. */
export const commaListOf = <const T extends readonly [string, ...string[]]>(...values: T) => {
  const expected = `some of ${values.join(', ')}, separated by commas`
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values, { error: expected })))
    .refine((list) => new Set(list).size === list.length, expected)
}
/** A fixed number of whole numbers, separated by commas. */
export const wholeNumberListOf = (length: number, min: number, max: number) => {
  const expected = `${length} whole numbers from ${min} to ${max}, separated by commas`
  return z
    .string()
    .regex(/^\d{1,12}(,\d{1,12})*$/, expected)
    .transform((text) => text.split(',').map(Number))
    .refine((list) => list.length === length && list.every((value) => value >= min && value <= max), expected)
}
export const flag = oneOf('0', '1').transform((value) => value === '1')
export const sat = z
  .string()
  .regex(/^\d{1,16}$/, 'a whole number of satoshis')
  .transform(BigInt)
export const nonEmptyText = z.string().min(1, 'not empty')
