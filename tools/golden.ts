// Keeps a sample of every fact and command, at every version, in packages/contracts/golden:
//   node tools/golden.ts            writes the files that are missing, and changes none
//   node tools/golden.ts --check    says what is missing or can no longer be read, and writes nothing
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { contracts } from '../packages/contracts/src/all.ts'
import type { Contract, Versioned, Versions } from '../packages/contracts/src/define.ts'
import { factOf } from '../packages/runtime/src/event-codec.ts'
import { type JsonSchema, keysIn, keysOf, sampleOf, variants } from './golden-samples.ts'

const folder = join(import.meta.dirname, '../packages/contracts/golden')
/** `order/OrderPlaced.v1.json`, or with a word for the variant: `settlement/RecordPayout.v1.failed.json`. */
const NAME = /^(?<category>\w+)\/(?<type>\w+)\.v(?<version>[1-9]\d*)(?:\.[\w-]+)?\.json$/

type Files = ReadonlyMap<string, string>

export const goldenFiles = (): Files =>
  new Map(globSync('**/*', { cwd: folder, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [readGolden(entry)] : [])))

function readGolden({ parentPath, name }: { readonly parentPath: string; readonly name: string }): readonly [string, string] {
  const path = join(parentPath, name)
  return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
}

const messagesOf = ({ facts, commands }: Contract): Versions => ({ ...facts, ...commands })
const schemaOf = ({ schema }: Versioned): JsonSchema => schema.toJSONSchema() as JsonSchema // messages use the part that the type describes

/** @returns by its path every file that today's versions should have, and what to write into it */
const wantedFiles = (of: readonly Contract[]): ReadonlyMap<string, () => string> =>
  new Map(
    of.flatMap((contract) =>
      Object.entries(messagesOf(contract)).flatMap(([type, shape]) => {
        const schema = schemaOf(shape)
        const stem = `${contract.category}/${type}.v${shape.v}`
        return variants(schema).map(
          (variant) =>
            [`${stem}${variant && `.${variant}`}.json`, () => `${JSON.stringify(sampleOf(schema, variant), null, 2)}\n`] as const,
        )
      }),
    ),
  )

/** @returns what keeps these files from being a record of every shape that was ever written, each with how to mend it */
export function goldenFaults(of: readonly Contract[], files: Files): readonly string[] {
  const missing = [...wantedFiles(of).keys()].filter((path) => !files.has(path))
  return [
    ...of.flatMap(sharedNames),
    ...missing.map((path) => `${path} is missing: run node tools/golden.ts`),
    ...of.flatMap((contract) => Object.entries(messagesOf(contract)).flatMap(([type]) => versionFaults(contract, type, files))),
    ...[...files].flatMap(([path, text]) => fileFaults(of, path, text)),
  ]
}

const sharedNames = ({ category, facts, commands }: Contract): readonly string[] =>
  Object.keys(facts)
    .filter((type) => type in commands)
    .map((type) => `${category} has a fact and a command ${type}: rename one, their golden files would be the same`)

/** Old versions have to stay, and the files of today's version have to show every key that may be written today. */
function versionFaults(contract: Contract, type: string, files: Files): readonly string[] {
  const shape = messagesOf(contract)[type]
  if (!shape) return []
  const textsOf = (version: number): readonly string[] =>
    [...files].flatMap(([path, text]) => (path.startsWith(`${contract.category}/${type}.v${version}.`) ? [text] : []))
  const lost = Array.from({ length: shape.v - 1 }, (_, index) => index + 1).filter((version) => textsOf(version).length === 0)
  const shown = new Set(textsOf(shape.v).flatMap((text) => keysIn(parsed(text))))
  const gained = shown.size === 0 ? [] : [...new Set(keysOf(schemaOf(shape)))].filter((key) => !shown.has(key))
  return [
    ...lost.map((version) => `${contract.category}/${type}.v${version}.json is gone: stores may hold that version, take it back`),
    ...(gained.length > 0
      ? [`${contract.category}/${type} v${shape.v} gained ${gained.join(', ')}: ${mend(type, shape.v)}`]
      : []),
  ]
}

function fileFaults(of: readonly Contract[], path: string, text: string): readonly string[] {
  const { category, type = '', version } = NAME.exec(path)?.groups ?? {}
  const contract = of.find((one) => one.category === category)
  const shape = contract && messagesOf(contract)[type]
  if (!shape)
    return [`${path} belongs to no message: facts that were once stored keep their type, so give it back to its contract`]
  const stored = parsed(text)
  if (stored === undefined) return [`${path} is no JSON`]
  try {
    const today = shape.schema.safeParse(upcast(contract, type, text, Number(version)))
    if (!today.success) {
      const where = today.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')
      return [`${path} cannot be read any more (${where}): ${mend(type, shape.v)}`]
    }
    const isSame = Number(version) < shape.v || isDeepStrictEqual(parsed(JSON.stringify(today.data)), stored)
    return isSame ? [] : [`${path} is another text once it was read and written: ${mend(type, shape.v)}`]
  } catch (error) {
    return [`${path} cannot be read any more: ${error instanceof Error ? error.message : String(error)}`]
  }
}

/** Commands are upcast by the same words as facts. @throws Bug for a version that nobody knows, or a missing upcaster */
const upcast = (contract: Contract, type: string, text: string, version: number): unknown =>
  factOf({ ...contract, facts: messagesOf(contract) }, { id: '', type, data: text, meta: '' }, version).data

const mend = (type: string, version: number): string =>
  `what is stored never changes. Leave the file as it is, give ${type} version ${version + 1} with upcast[${version}] ` +
  `in packages/contracts/src, and run node tools/golden.ts`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

if (import.meta.main) {
  if (!process.argv.includes('--check')) {
    const files = goldenFiles()
    for (const [path, text] of wantedFiles(contracts)) {
      if (files.has(path)) continue
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text(), { flag: 'wx' })
      console.log(`packages/contracts/golden/${path}`)
    }
  }
  const faults = goldenFaults(contracts, goldenFiles())
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
