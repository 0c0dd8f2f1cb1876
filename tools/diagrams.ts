// Writes the lifecycle diagrams into the documents that have a place for them, from the machines themselves:
//   node tools/diagrams.ts            writes
//   node tools/diagrams.ts --check    says what is out of date, and writes nothing
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { diagram } from '../packages/runtime/src/diagram.ts'
import { compile } from '../packages/runtime/src/lifecycle.ts'

const root = join(import.meta.dirname, '..')
const places = ['services/*/README.md', 'docs/lifecycles.md']
/** `<!-- diagram order/attempt -->` ... `<!-- end of diagram -->`: service, and machine within the service. */
const BLOCK = /<!-- diagram ([\w-]+)\/([\w-]+) -->\n[\s\S]*?<!-- end of diagram -->/g

/** @returns the documents whose diagrams are not those of today's machines, with what they should say */
export async function outdatedDiagrams(): Promise<ReadonlyMap<string, string>> {
  const outdated = new Map<string, string>()
  for (const path of globSync(places, { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8')
    const drawn = await redrawn(text)
    if (drawn !== text) outdated.set(path, drawn)
  }
  return outdated
}

async function redrawn(text: string): Promise<string> {
  const blocks = new Map<string, string>()
  for (const [block, service = '', machine = ''] of text.matchAll(BLOCK)) blocks.set(block, await blockOf(service, machine))
  return [...blocks].reduce((drawn, [block, fresh]) => drawn.replaceAll(block, () => fresh), text)
}

async function blockOf(service: string, name: string): Promise<string> {
  const file = join(root, 'services', service, 'src', `${name}.machine.ts`)
  if (!existsSync(file)) throw new Error(`a document wants the diagram ${service}/${name}, but there is no ${file}`)
  const machine = Object.values((await import(pathToFileURL(file).href)) as Record<string, Parameters<typeof compile>[0]>)[0] // a machine file exports its machine
  if (!machine) throw new Error(`${file} exports no machine`)
  return `<!-- diagram ${service}/${name} -->\n\`\`\`mermaid\n${diagram(compile(machine))}\n\`\`\`\n<!-- end of diagram -->`
}

if (import.meta.main) {
  const outdated = await outdatedDiagrams()
  const isCheck = process.argv.includes('--check')
  for (const [path, text] of outdated) {
    if (isCheck) console.error(`${path} shows an old lifecycle; run: node tools/diagrams.ts`)
    else writeFileSync(join(root, path), text)
  }
  if (isCheck && outdated.size > 0) process.exitCode = 1
}
