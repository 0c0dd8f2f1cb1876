import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** The texts of files that are made from the code, by path from the root. */
export type GeneratedFiles = ReadonlyMap<string, string>

export const locate = (path: string): string => join(ROOT, path)
export const readText = (path: string): string => readFileSync(locate(path), 'utf8')

/**
 * Replaces the generated part of a text: the lines between the comments `generated: <name>` and `end of <name>`.
 * @throws if the text has no such comments
 */
export function replaceBlock(text: string, name: string, lines: readonly string[]): string {
  const block = new RegExp(
    `^([ \\t]*(?:#|<!--) generated: ${name}(?: -->)?\\n)[\\s\\S]*?(?=^[ \\t]*(?:#|<!--) end of ${name}\\b)`,
    'm',
  )
  if (!block.test(text)) throw new Error(`no comment "generated: ${name}" with its end`)
  return text.replace(block, (_, begin: string) => begin + lines.map((line) => `${line}\n`).join(''))
}
