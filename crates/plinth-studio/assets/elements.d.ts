// Types of the elements that the scripts find by selectors: a selector says nothing about the type of what it finds, so that
// the scripts take it from the page. tsc checks everything that is done with elements that the scripts create.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}
