// Types of files that the bundle holds as text.
declare module "*.md" {
  const text: string;
  export default text;
}
declare module "*.py" {
  const text: string;
  export default text;
}
declare module "*.toml" {
  const text: string;
  export default text;
}
