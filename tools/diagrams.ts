import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { renderDiagram } from '../packages/runtime/src/lifecycle/diagram.ts'
import { compileLifecycle } from '../packages/runtime/src/lifecycle/lifecycle.ts'
import { type GeneratedFiles, readText } from './generated-files.ts'

const root = join(import.meta.dirname, '..')
const documents = ['services/*/README.md', 'docs/lifecycles.md']
/** `<!-- diagram order/attempt -->` ... `<!-- end of diagram -->`: service, and machine within the service. */
const BLOCK = /<!-- diagram ([\w-]+)\/([\w-]+) -->\n[\s\S]*?<!-- end of diagram -->/g

/** Draws the lifecycle diagrams of the state machines, in the documents that have markers for them. */
export async function renderDiagrams(): Promise<GeneratedFiles> {
  const files = new Map<string, string>()
  for (const path of globSync(documents, { cwd: root })) files.set(path, await redrawDiagrams(readText(path)))
  return files
}

async function redrawDiagrams(text: string): Promise<string> {
  const blocks = new Map<string, string>()
  for (const [block, service = '', machine = ''] of text.matchAll(BLOCK)) blocks.set(block, await renderBlock(service, machine))
  return [...blocks].reduce((newText, [block, fresh]) => newText.replaceAll(block, () => fresh), text)
}

async function renderBlock(service: string, name: string): Promise<string> {
  const pattern = `services/${service}/src/**/${name}.machine.ts`
  const [path] = globSync(pattern, { cwd: root })
  if (path === undefined) throw new Error(`a document contains the diagram ${service}/${name}, but ${pattern} does not exist`)
  const file = join(root, path)
  const machine = Object.values(
    (await import(pathToFileURL(file).href)) as Record<string, Parameters<typeof compileLifecycle>[0]>,
  )[0] // a machine file exports its machine
  if (!machine) throw new Error(`${file} exports no machine`)
  return `<!-- diagram ${service}/${name} -->\n\`\`\`mermaid\n${renderDiagram(compileLifecycle(machine))}\n\`\`\`\n<!-- end of diagram -->`
}
