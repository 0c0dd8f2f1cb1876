import {
  getNamedType,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredInputField,
} from 'graphql'
import { listSelectedFields } from './selections.ts'

type AnyType = GraphQLInputType | GraphQLOutputType

/** The types of scalars in TypeScript. */
const SCALARS: Readonly<Record<string, string>> = {
  Boolean: 'boolean',
  Float: 'number',
  ID: 'string',
  Int: 'number',
  String: 'string',
  WholeNumber: 'string | number',
}

/** Renders a reference to a type, such as `readonly Sats[] | null`. */
export function renderTypeReference(type: AnyType): string {
  if (isNonNullType(type)) return renderNotNull(type.ofType)
  return `${renderNotNull(type)} | null`
}

function renderNotNull(type: AnyType): string {
  if (isNonNullType(type)) return renderNotNull(type.ofType)
  if (!isListType(type)) return renderName(type)
  const entry = renderTypeReference(type.ofType as AnyType) // graphql types the entries of a list as any type
  return `readonly ${entry.includes(' ') ? `(${entry})` : entry}[]`
}

function renderName(type: GraphQLNamedType): string {
  if (isObjectType(type) || isInputObjectType(type) || isEnumType(type)) return type.name
  const scalar = SCALARS[type.name]
  if (scalar === undefined) throw new Error(`the scalar ${type.name} needs its type in tools/client/render-types.ts`)
  return scalar
}

/** Renders a property of an input. The caller may leave it out unless it is required. */
export const renderInputProperty = (name: string, type: GraphQLInputType, isRequired: boolean): string =>
  isRequired ? `readonly ${name}: ${renderTypeReference(type)}` : `readonly ${name}?: ${renderTypeReference(type)} | undefined`

/** Renders the declarations of types and of all types that they contain, in the order in which they occur first. */
export function renderDeclarations(types: Iterable<AnyType>): string {
  const declarations = new Map<string, string>()
  for (const type of types) addDeclaration(getNamedType(type), declarations)
  return [...declarations.values()].join('\n')
}

function addDeclaration(type: GraphQLNamedType, declarations: Map<string, string>): void {
  if (declarations.has(type.name)) return
  const comment = renderComment(type.description, '')
  if (isEnumType(type)) {
    const values = type.getValues().map(({ name }) => `'${name}'`)
    declarations.set(type.name, `${comment}export type ${type.name} = ${values.join(' | ')}\n`)
    return
  }
  if (!isInputObjectType(type) && !isObjectType(type)) return
  const properties = isInputObjectType(type)
    ? Object.values(type.getFields()).map((field) => ({
        ...field,
        text: renderInputProperty(field.name, field.type, isRequiredInputField(field)),
      }))
    : listSelectedFields(type).map((field) => ({
        ...field,
        text: `readonly ${field.name}: ${renderTypeReference(field.type)}`,
      }))
  const lines = properties.map(({ description, text }) => `${renderComment(description, '  ')}  ${text}\n`)
  declarations.set(type.name, `${comment}export type ${type.name} = {\n${lines.join('')}}\n`)
  for (const property of properties) addDeclaration(getNamedType(property.type), declarations)
}

/** Renders the description of the schema as a comment; an empty text if there is none. */
export function renderComment(description: string | null | undefined, indent: string): string {
  if (!description) return ''
  const lines = description.replaceAll('*/', '*\\/').split('\n')
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`
}
