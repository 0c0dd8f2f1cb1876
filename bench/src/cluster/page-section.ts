/**
 * Replaces a section of a Markdown page, or appends it. A section reaches from its second-level heading to the next one.
 * @param section the text of the section, which begins with its heading
 */
export function replaceSection(page: string, heading: string, section: string): string {
  const sections = page.trimEnd().split(/^(?=## )/m)
  const index = sections.findIndex((text) => text.split('\n')[0] === heading)
  const replaced = index < 0 ? [...sections, section] : sections.with(index, section)
  return `${replaced.map((text) => text.trim()).join('\n\n')}\n`
}
