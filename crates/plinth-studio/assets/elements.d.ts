// Types of the elements that the scripts find by selectors. A selector does not determine the type of the elements that it
// finds, so their type is `any`. tsc checks only the use of elements that the scripts create.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}
